package io.hvd.examples.volume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class NiftiTest {
    private static final VoxelSpace SPACE = new VoxelSpace(
            new float[] {-1, 0.5f, 2, 3, 1, 1, 1, 1},
            (byte) 10,
            (short) 1,
            (short) 3,
            new float[] {0.1f, 0.2f, 0.3f, -4, 5, -6},
            new float[] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});

    @TempDir
    Path folder;

    @ParameterizedTest
    @EnumSource(VoxelType.class)
    void whatIsWrittenIsReadBackCompressedOrNot(VoxelType type) throws IOException {
        float[] voxels = new float[3 * 5 * 7];
        for (int i = 0; i < voxels.length; i++) {
            voxels[i] = type.holds(0.25f) ? i / 8f - 3 : i;
        }
        Volume volume = new Volume(3, 5, 7, voxels, SPACE);
        for (String name : new String[] {"a.nii", "a.nii.gz"}) {
            Path file = folder.resolve(name);
            Nifti.write(file, volume, type);
            Volume read = Nifti.read(file);

            assertThat(read.sizes()).isEqualTo("3x5x7");
            assertThat(read.voxels()).containsExactly(voxels);
            assertThat(read.space()).usingRecursiveComparison().isEqualTo(SPACE);
        }
        assertThat(Files.size(folder.resolve("a.nii"))).isEqualTo(352 + (long) voxels.length * type.bytes);
        assertThat(Files.readAllBytes(folder.resolve("a.nii.gz"))).startsWith(0x1f, 0x8b);
    }

    /** Every voxel of a volume that is longer than a piece of the reader's, at the ends of the types' ranges. */
    @ParameterizedTest
    @CsvSource({"UINT8,0,255", "INT8,-128,127", "INT16,-32768,32767", "UINT16,0,65535", "UINT32,0,4294967040"})
    void valuesAtTheEndsOfATypesRangeAreKept(VoxelType type, float least, float most) throws IOException {
        float[] voxels = new float[41 * 41 * 41];
        for (int i = 0; i < voxels.length; i++) {
            voxels[i] = i % 3 == 0 ? least : most;
        }
        Nifti.write(folder.resolve("a.nii.gz"), Volume.of(41, 41, 41, voxels), type);

        assertThat(Nifti.read(folder.resolve("a.nii.gz")).voxels()).containsExactly(voxels);
    }

    /** Byte by byte by nifti1.h: int16, a scale, five dimensions, an extension of 16 bytes before the voxels. */
    @ParameterizedTest
    @CsvSource({"LITTLE,false", "BIG,false", "BIG,true"})
    void aFileOfBytesAsTheStandardSaysIsRead(String endian, boolean packed) throws IOException {
        ByteBuffer bytes = header(endian.equals("BIG") ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN, 368 + 2 * 6);
        bytes.putFloat(108, 368); // vox_offset
        bytes.putFloat(112, 0.5f); // scl_slope
        bytes.putFloat(116, -10); // scl_inter
        bytes.put(348, (byte) 1).putInt(352, 16).putInt(356, 6); // an extension: its size and code
        short[] raw = {0, 1, -2, 300, 32767, -32768};
        for (int i = 0; i < raw.length; i++) {
            bytes.putShort(368 + 2 * i, raw[i]);
        }
        Path file = Files.write(folder.resolve("a"), packed ? gzip(bytes.array()) : bytes.array());

        Volume read = Nifti.read(file);

        assertThat(read.sizes()).isEqualTo("3x2x1");
        assertThat(read.voxels()).containsExactly(-10, -9.5f, -11, 140, 16373.5f, -16394);
        assertThat(read.voxels()[read.index(1, 1, 0)]).isEqualTo(16373.5f);
    }

    /** A slope of 0 says that there is no scale, and the intercept beside it means nothing. */
    @Test
    void aSlopeOfZeroIsNone() throws IOException {
        ByteBuffer bytes = header(ByteOrder.LITTLE_ENDIAN, 352 + 12);
        bytes.putFloat(112, 0).putFloat(116, 7);
        bytes.putShort(352, (short) 5);

        assertThat(Nifti.read(Files.write(folder.resolve("a"), bytes.array())).voxels())
                .startsWith(5, 0);
    }

    @ParameterizedTest
    @ValueSource(floats = {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY})
    void aSlopeThatIsNoNumberIsNoneAsNibabelHasIt(float slope) throws IOException {
        ByteBuffer bytes = header(ByteOrder.LITTLE_ENDIAN, 352 + 12);
        bytes.putFloat(112, slope).putFloat(116, 7);
        bytes.putShort(352, (short) 5);

        assertThat(Nifti.read(Files.write(folder.resolve("a"), bytes.array())).voxels())
                .startsWith(5, 0);
    }

    @Test
    void aVoxelThatAFloatHasNoRoomForIsNamed() {
        ByteBuffer bytes = header(ByteOrder.LITTLE_ENDIAN, 352 + 48);
        bytes.putShort(70, (short) 64).putShort(72, (short) 64);
        bytes.putDouble(352 + 8, -1e300);

        refuse(bytes.array(), "voxel 1 is -1.0E300, expected at most 3.4028235E38");
    }

    @Test
    void fieldsThatAreWrongAreNamedWithTheirByteAndWhatIsExpected() {
        refuse(bytes -> bytes.putInt(0, 540), "sizeof_hdr at byte 0 is 540, which is NIfTI-2, expected 348");
        refuse(bytes -> bytes.putInt(0, 7), "sizeof_hdr at byte 0 is 7, expected 348 in either byte order");
        refuse(bytes -> bytes.put(344, (byte) 'i'), "magic at byte 344 is \"i+1.\", expected \"n+1\"");
        refuse(bytes -> bytes.putShort(40, (short) 2), "dim[0] at byte 40 is 2, expected 3 to 7 dimensions");
        refuse(bytes -> bytes.putShort(44, (short) 0), "dim[2] at byte 44 is 0, expected at least 1");
        refuse(bytes -> bytes.putShort(48, (short) 3), "dim[4] at byte 48 is 3, expected 1: a single channel");
        refuse(
                bytes -> bytes.putShort(70, (short) 128),
                "datatype at byte 70 is 128, expected one of 2 (uint8), 4 (int16)");
        refuse(bytes -> bytes.putShort(72, (short) 8), "bitpix at byte 72 is 8, expected 16 as datatype 4 has");
        refuse(
                bytes -> bytes.putFloat(108, 100),
                "vox_offset at byte 108 is 100.0, expected a whole number of at least 352");
        refuse(
                bytes -> bytes.putFloat(112, 2).putFloat(116, Float.NaN),
                "scl_inter at byte 116 is NaN, expected a finite number");
        short most = Short.MAX_VALUE;
        refuse(
                bytes -> bytes.putShort(42, most).putShort(44, most).putShort(46, most),
                "dim at byte 40 is 35181150961663 voxels, expected at most 2147483639");
    }

    private interface Change {
        void make(ByteBuffer bytes);
    }

    private void refuse(Change change, String message) {
        ByteBuffer bytes = header(ByteOrder.LITTLE_ENDIAN, 352 + 12);
        change.make(bytes);
        refuse(bytes.array(), message);
    }

    private void refuse(byte[] bytes, String message) {
        Path file = folder.resolve("wrong");
        assertThatThrownBy(() -> Nifti.read(Files.write(file, bytes)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(file + ": ")
                .hasMessageContaining(message);
    }

    @Test
    void tornAndForeignFilesAreRefusedByNameAndByte() throws IOException {
        byte[] whole = header(ByteOrder.LITTLE_ENDIAN, 352 + 12).array();
        refuse(new byte[0], "the file ends after 0 bytes (decompressed), expected a header of 348");
        refuse(Arrays.copyOf(whole, 347), "the file ends after 347 bytes (decompressed), expected a header of 348");
        refuse(
                Arrays.copyOf(whole, 363),
                "the file ends after 363 bytes (decompressed), expected 364, where its 6 voxels end");
        refuse(
                gzip(Arrays.copyOf(whole, 363)),
                "the file ends after 363 bytes (decompressed), expected 364, where its 6 voxels end");
        byte[] packed = gzip(whole);
        refuse(Arrays.copyOf(packed, 20), "(decompressed), expected a header of 348");
        refuse(Arrays.copyOf(packed, 5), "the file ends after 0 bytes (decompressed), expected a header of gzip");
        packed[10] = (byte) 0xff;
        refuse(packed, "it cannot be decompressed after byte 0");
        refuse("some text\n".repeat(60).getBytes(StandardCharsets.UTF_8), "this is no NIfTI-1 file");
    }

    @Test
    void aVoxelThatATypeHasNoRoomForIsNamedAndNothingIsWritten() {
        Path file = folder.resolve("a.nii");
        Volume volume = Volume.of(2, 1, 1, new float[] {1, 0.5f});

        assertThatThrownBy(() -> Nifti.write(file, volume, VoxelType.UINT8))
                .hasMessageContaining("voxel 1 is 0.5, which UINT8 has no room for");
        assertThat(file).doesNotExist();
    }

    /** A header of 3x2x1x1x1 voxels of int16. */
    private static ByteBuffer header(ByteOrder order, int length) {
        ByteBuffer bytes = ByteBuffer.allocate(length).order(order);
        bytes.putInt(0, 348);
        short[] dim = {5, 3, 2, 1, 1, 1, 0, 0};
        for (int i = 0; i < dim.length; i++) {
            bytes.putShort(40 + 2 * i, dim[i]);
        }
        bytes.putShort(70, (short) 4).putShort(72, (short) 16);
        bytes.putFloat(108, 352);
        bytes.put(344, new byte[] {'n', '+', '1', 0});
        return bytes;
    }

    private static byte[] gzip(byte[] bytes) throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
            out.write(bytes);
        }
        return packed.toByteArray();
    }

    @Test
    void whatIsNoVolumeIsSaidToBeWhatItIs() throws IOException {
        Path file = folder.resolve("img0.nii.gz");
        Files.writeString(file, "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9912422\n");
        assertThatThrownBy(() -> Nifti.read(file)).hasMessageContaining("Git LFS");
        Files.writeString(file, "<!DOCTYPE html>" + " ".repeat(400));
        assertThatThrownBy(() -> Nifti.read(file)).hasMessageContaining("an HTML page");
    }
}
