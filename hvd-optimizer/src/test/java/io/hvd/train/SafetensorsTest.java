package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.testing.StandardError;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.GZIPOutputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Files of other programs: what the format allows is read, what it does not allow is refused with the rule. */
@Timeout(60)
class SafetensorsTest {
    private static final String W = "\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}";

    @TempDir
    Path folder;

    private Path file(String header, int dataBytes) throws IOException {
        return file(header.getBytes(StandardCharsets.UTF_8), dataBytes);
    }

    private Path file(byte[] header, int dataBytes) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(8 + header.length + dataBytes).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putLong(header.length).put(header);
        for (int i = 0; i < dataBytes; i++) {
            bytes.put((byte) i);
        }
        return Files.write(folder.resolve("other.safetensors"), bytes.array());
    }

    private void refused(Path file, String... facts) {
        assertThatThrownBy(() -> Checkpoint.read(file))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll(facts)
                .hasMessageContaining(file + " is no whole checkpoint");
    }

    /** The file of safetensors.numpy.save_file({}, file), and the same with blanks, with words and without any. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                "{}      ",
                "{\"__metadata__\":{}}",
                "{\"__metadata__\":null}",
                "{\"__metadata__\":{\"format\":\"np\"}} ",
            })
    void aFileWithoutTensorsIsRead(String header) throws IOException {
        Checkpoint read = Checkpoint.read(file(header, 0));
        assertThat(read.tensors()).isEmpty();
        assertThat(read.metadata().size()).isEqualTo(header.contains("format") ? 1 : 0);
    }

    @Test
    void aCheckpointOfHvdsWithoutTensorsComesBackWithItsWords() throws IOException {
        Path file = folder.resolve("own.safetensors");
        new Checkpoint(new TreeMap<>(), Map.of("epoch", "3")).write(file);
        Checkpoint read = Checkpoint.read(file);
        assertThat(read.tensors()).isEmpty();
        assertThat(read.metadata()).containsOnly(Map.entry("epoch", "3"));
    }

    @ParameterizedTest
    @CsvSource({
        "U32,4,1",
        "U64,8,1",
        "C64,8,1",
        "F8_E4M3,1,1",
        "F8_E5M2,1,1",
        "F8_E8M0,1,1",
        "F8_E4M3FNUZ,1,1",
        "F8_E5M2FNUZ,1,1",
        "F6_E2M3,3,4",
        "F6_E3M2,3,4",
        "F4,1,2"
    })
    void tensorsOfTypesThatHvdHasNotAreLeftOutWithTheirNamesAndTheOthersAreRead(String type, int bytes, int elements)
            throws Exception {
        String header = "{\"a\":{\"dtype\":\"" + type + "\",\"shape\":[" + elements + "],\"data_offsets\":[0," + bytes
                + "]},\"w\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[" + bytes + "," + (bytes + 2) + "]}}";
        Path file = file(header, bytes + 2);

        Checkpoint[] read = new Checkpoint[1];
        String said = StandardError.during(() -> read[0] = Checkpoint.read(file));

        assertThat(read[0].tensors().keySet()).containsExactly("w");
        assertThat(read[0].tensors().get("w").toArray()).isEqualTo(new byte[] {(byte) bytes, (byte) (bytes + 1)});
        assertThat(said).contains("\"a\" of " + type, "[" + elements + "]", "1 of 2 tensors are left out");
    }

    @Test
    void halfAByteIsRefusedAsTheFormatDoes() throws IOException {
        refused(file("{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}}", 2), "\"a\"", "inside a byte");
    }

    @Test
    void theTypesSixteenBitsAndTruthValuesAreRead() throws IOException {
        Checkpoint read = Checkpoint.read(file(
                "{\"u\":{\"dtype\":\"U16\",\"shape\":[2],\"data_offsets\":[2,6]},"
                        + "\"b\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2]}}",
                6));
        assertThat(read.tensors().get("u").dtype()).isEqualTo(DType.UINT16);
        assertThat(read.tensors().get("u").toArray()).isEqualTo(new short[] {0x0302, 0x0504});
        assertThat(read.tensors().get("b").dtype()).isEqualTo(DType.BOOL);
    }

    /** In any order, with nothing in it, of no dimension, under any name, and with a field that the format's own reader passes over. */
    @Test
    void whatIsRareAndAllowedIsRead() throws IOException {
        Checkpoint read = Checkpoint.read(file(
                "{\"z\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[4,8],\"more\":{\"x\":[1]}},"
                        + "\"\u00e9\ud83d\ude00\\n\":{\"shape\":[0,3],\"data_offsets\":[4,4],\"dtype\":\"F64\"},"
                        + "\"\":{\"dtype\":\"I8\",\"shape\":[2,1,2],\"data_offsets\":[0,4]}}   ",
                8));
        assertThat(read.tensors().keySet()).containsExactlyInAnyOrder("z", "\u00e9\ud83d\ude00\n", "");
        assertThat(read.tensors().get("z").shape()).isEqualTo(Shape.scalar());
        assertThat(read.tensors().get("\u00e9\ud83d\ude00\n").elements()).isZero();
        assertThat(read.tensors().get("").toArray()).isEqualTo(new byte[] {0, 1, 2, 3});
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "'\ufeff{" + W + "}'|begins with the byte 239",
                "' {" + W + "}'|begins with the byte 32",
                "{" + W
                        + ",\"x\":{\"dtype\":\"Q9\",\"shape\":[0],\"data_offsets\":[4,4]}}|Q9, which is none of the format's",
                "{" + W + "," + W + "}|allows no name twice",
                "{" + W + ",\"\\u0077\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[4,4]}}|allows no name twice",
                "{\"\\ud800\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}|surrogate",
                "{\"__metadata__\":{\"k\":null}," + W + "}|the word \"k\" is NULL, and the format allows a text only",
                "{\"__metadata__\":{\"k\":{}}," + W + "}|the format allows a text only",
                "{\"__metadata__\":[]," + W + "}|no JSON of the format",
                "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}|has 4 bytes, expected 8 by its type and shape",
                "{\"w\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}|begins at byte 1 of the data, expected 0",
                "{\"w\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}|have 2 bytes, the file holds 4",
                "{\"w\":{\"dtype\":\"U8\",\"shape\":[9],\"data_offsets\":[0,9]}}|its end is missing",
                "{\"w\":{\"dtype\":\"F64\",\"shape\":[4611686018427387904],\"data_offsets\":[0,4]}}|than can be counted",
            })
    void whatTheFormatDoesNotAllowIsRefusedWithItsRule(String header, String rule) throws IOException {
        refused(file(header, 4), rule);
    }

    @Test
    void aHeaderThatIsNoUtf8IsRefused() throws IOException {
        byte[] header = ("{" + W + "}").getBytes(StandardCharsets.ISO_8859_1);
        header[2] = (byte) 0xe9;
        refused(file(header, 4), "UTF-8");
    }

    @Test
    void aPointerOfGitLfsIsSaidToBeOne() throws IOException {
        Path file = folder.resolve("model.safetensors");
        Files.writeString(
                file,
                "version https://git-lfs.github.com/spec/v1\noid sha256:" + "ab".repeat(32) + "\nsize 440449768\n");
        refused(file, "pointer of Git LFS", "440449768 bytes", "git lfs pull");
    }

    @Test
    void whatTorchHasSavedIsSaidToBeThatInItsNewFormatAndInTheOld() throws IOException {
        Path zip = folder.resolve("pytorch_model.bin");
        try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(zip))) {
            out.putNextEntry(new ZipEntry("archive/data.pkl"));
            out.write(new byte[300]);
        }
        refused(zip, "torch.save", "safetensors.torch.save_file");
        Path old = folder.resolve("old.pt");
        Files.write(old, HexFormat.of().parseHex("80028a0a6cfc9c46f9206aa850192e8002"));
        refused(old, "torch.save");
    }

    @Test
    void otherFilesAreSaidToBeWhatTheyAre() throws IOException {
        Path file = folder.resolve("model.safetensors");
        refused(Files.write(file, new byte[0]), "it is empty");
        refused(Files.writeString(file, "\n<!DOCTYPE html><html>not found</html>"), "an HTML page", "download");
        refused(Files.writeString(file, "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>"), "is XML");
        refused(Files.writeString(file, "Entry not found"), "a text that begins with \"Entry not found\"");
        refused(Files.write(file, gzip("{}")), "gzip", "unpack");
        refused(Files.write(file, new byte[1000]), "zeros");
        refused(Files.writeString(file, "GGUF\u0003\0\0\0aaaaaaaaaaaaaaaa"), "GGUF");
        refused(Files.write(file, HexFormat.of().parseHex("894844460d0a1a0a0000000000000000")), "HDF5");
        refused(Files.write(file, HexFormat.of().parseHex("080712077079746f726368")), "ONNX");
        refused(Files.write(file, npz()), "numpy", "safetensors.numpy.save_file");
        refused(Files.write(file, new byte[] {1, 2, 3, 4}), "it has 4 bytes, expected at least 10");
    }

    @Test
    void aNamedPipeIsRefusedAndNotWaitedFor() throws Exception {
        Path pipe = folder.resolve("pipe.safetensors");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        assertThatThrownBy(() -> Checkpoint.read(pipe)).hasMessage(pipe + ": is a named pipe, expected a regular file");
    }

    private static byte[] gzip(String text) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (OutputStream out = new GZIPOutputStream(bytes)) {
            out.write(text.getBytes(StandardCharsets.UTF_8));
        }
        return bytes.toByteArray();
    }

    private static byte[] npz() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream out = new ZipOutputStream(bytes)) {
            out.putNextEntry(new ZipEntry("arr_0.npy"));
            out.write(new byte[300]);
        }
        return bytes.toByteArray();
    }
}
