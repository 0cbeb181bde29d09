package io.hvd.examples.volume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class VoxelPlacementTest {
    private static final int SIDE = 8;

    @TempDir
    Path folder;

    private static VoxelSpace sform(float... rows) {
        return new VoxelSpace(new float[] {1, 1, 1, 1, 1, 1, 1, 1}, (byte) 2, (short) 0, (short) 1, new float[6], rows);
    }

    private static VoxelSpace qform(float sign, float... rotation) {
        return new VoxelSpace(
                new float[] {sign, 1.5f, 2, 2.5f, 1, 1, 1, 1}, (byte) 2, (short) 1, (short) 0, rotation, new float[12]);
    }

    private static VoxelSpace distances(float x, float y, float z) {
        return new VoxelSpace(
                new float[] {1, x, y, z, 1, 1, 1, 1}, (byte) 2, (short) 0, (short) 0, new float[6], new float[12]);
    }

    private static final VoxelSpace STRAIGHT = sform(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0);
    private static final VoxelSpace MIRRORED = sform(-1, 0, 0, 7, 0, 1, 0, 0, 0, 0, 1, 0);

    private void write(String name, VoxelSpace space) throws IOException {
        Nifti.write(
                folder.resolve(name + ".nii"),
                new Volume(SIDE, SIDE, SIDE, new float[SIDE * SIDE * SIDE], space),
                VoxelType.INT16);
    }

    private List<String> remarks(VoxelSpace image, VoxelSpace mask) throws IOException {
        write("img0", image);
        write("seg0", mask);
        return VolumeFolder.of(folder).requireFitting(1);
    }

    /** The matrix is that of nibabel 5.0. */
    @Test
    void aRotationGivesTheAffineOfNibabel() {
        double[][] map =
                VoxelPlacement.of(qform(-1, 0.1f, -0.3f, 0.7f, -10, 20, 30.5f)).map();

        double[][] wanted = {
            {-0.23999997, -1.91287478, 0.61046869, -10},
            {1.25465608, 0.00000007, 1.37015624, 20},
            {0.78628121, -0.58387504, -1.99999996, 30.5}
        };
        for (int row = 0; row < 3; row++) {
            assertThat(map[row]).containsExactly(wanted[row], within(1e-5));
        }
    }

    @Test
    void aMaskThatIsMirroredByItsAffineIsRefusedWithBothPlaces() {
        assertThatThrownBy(() -> remarks(STRAIGHT, MIRRORED))
                .isInstanceOf(IOException.class)
                .hasMessageContainingAll(
                        folder.resolve("seg0.nii").toString(),
                        "lies elsewhere",
                        "found LAS with voxels of 1x1x1 mm, the first at (7, 0, 0)",
                        "expected RAS with voxels of 1x1x1 mm, the first at (0, 0, 0) as img0.nii");
    }

    @ParameterizedTest
    @CsvSource({
        "1, 0, 0, 0.5", // half a voxel further
        "1.1, 0, 0, 0", // larger voxels
        "0, 1, 0, 0", // two axes exchanged
        "NaN, 0, 0, 0",
    })
    void aMaskThatIsShiftedScaledOrTurnedIsRefused(float a, float b, float c, float d) {
        VoxelSpace other =
                a == 0 ? sform(0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0) : sform(a, b, c, d, 0, 1, 0, 0, 0, 0, 1, 0);

        assertThatThrownBy(() -> remarks(STRAIGHT, other)).hasMessageContaining("lies elsewhere");
    }

    @Test
    void onePlaceMayBeSaidByAnAffineOrARotationAndInOtherUnits() throws Exception {
        VoxelSpace turned = qform(1, 0, 0, 1, 3, 4, 5); // half a turn about z
        VoxelSpace affine = sform(-1.5f, 0, 0, 3, 0, -2, 0, 4, 0, 0, 2.5f, 5.00001f);
        VoxelSpace metres = new VoxelSpace(
                affine.pixdim(),
                (byte) 1,
                (short) 0,
                (short) 2,
                new float[6],
                scaled(affine.affine(), row -> row / 1000));

        assertThat(remarks(turned, affine)).isEmpty();
        assertThat(remarks(affine, metres)).isEmpty();
        assertThatThrownBy(() -> remarks(affine, qform(-1, 0, 0, 1, 3, 4, 5))).hasMessageContaining("LPI");
    }

    private static float[] scaled(float[] values, UnaryOperator<Float> change) {
        float[] changed = Arrays.copyOf(values, values.length);
        for (int i = 0; i < changed.length; i++) {
            changed[i] = change.apply(changed[i]);
        }
        return changed;
    }

    @Test
    void aMaskThatDoesNotSayWhereItLiesIsToldIfItsVoxelsFitAndRefusedIfNot() throws Exception {
        assertThat(remarks(MIRRORED, distances(1, 1, 1)))
                .singleElement()
                .asString()
                .contains("taken to lie over their images", "sform or qform code: 1, such as seg0.nii");
        assertThatThrownBy(() -> remarks(MIRRORED, distances(1, 1, 2)))
                .hasMessageContainingAll("found no orientation with voxels of 1x1x2 mm", "expected LAS");
        assertThat(remarks(distances(1, 1, 2), distances(1, 1, 2))).isEmpty();
    }

    @Test
    void imagesThatLieDifferentlyAreTold() throws Exception {
        write("img1", MIRRORED);
        write("seg1", MIRRORED);
        write("img2", STRAIGHT);
        write("seg2", STRAIGHT);

        assertThat(remarks(STRAIGHT, STRAIGHT))
                .singleElement()
                .asString()
                .contains(
                        "lie differently",
                        "RAS with voxels of 1x1x1 mm: 2, such as img0.nii",
                        "LAS with voxels of 1x1x1 mm: 1, such as img1.nii");
    }

    @Test
    void aMaskWithoutAnImageIsTold() throws Exception {
        write("seg7", STRAIGHT);
        Files.createDirectories(folder.resolve("img9.nii"));

        assertThat(remarks(STRAIGHT, STRAIGHT))
                .containsExactly("masks without an image, which are left out: 1, such as seg7.nii");
    }

    @Test
    void twoFilesOfOneNameAreRefused() throws Exception {
        remarks(STRAIGHT, STRAIGHT);
        Files.copy(folder.resolve("img0.nii"), folder.resolve("img0.nii.gz"));
        Files.copy(folder.resolve("seg0.nii"), folder.resolve("seg0.nii.gz"));

        assertThatThrownBy(() -> VolumeFolder.of(folder))
                .hasMessageContainingAll("img0.nii", "img0.nii.gz", "same volume");
    }

    @ParameterizedTest
    @ValueSource(floats = {0.5f, -1, Float.NaN, Float.POSITIVE_INFINITY, 1e-5f})
    void aLabelThatIsNoWholeNumberIsNamed(float wrong) {
        Volume image = Volume.of(2, 1, 1, new float[] {0, 1});
        LabelledVolume volume = new LabelledVolume("img3", image, Volume.of(2, 1, 1, new float[] {1, wrong}));

        assertThatThrownBy(volume::scaled)
                .hasMessageContainingAll("voxel 1 of the label of img3 is " + wrong, "expected a whole number");
    }

    @Test
    void aLabelMayBeRoundedByAScaleAndBeLargerThanOne() {
        Volume image = Volume.of(3, 1, 1, new float[] {0, 1, 1});

        new LabelledVolume("img3", image, Volume.of(3, 1, 1, new float[] {0, 1.0000001f, 255})).scaled();
    }

    @ParameterizedTest
    @CsvSource({
        "INT32, 2147483648",
        "INT32, -2147483904",
        "UINT32, 4294967296",
        "UINT32, -1",
        "INT64, 9223372036854775807",
        "INT16, 32768",
        "UINT16, 65536",
        "INT8, 128",
        "INT8, -129",
        "UINT8, 256",
        "UINT64, 18446744073709551616",
        "UINT64, -1"
    })
    void aVoxelJustOutsideOfATypeIsRefused(VoxelType type, float voxel) {
        Path file = folder.resolve("edge.nii");

        assertThatThrownBy(() -> Nifti.write(file, Volume.of(1, 1, 1, new float[] {voxel}), type))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("which " + type + " has no room for");
        assertThat(file).doesNotExist();
    }

    @ParameterizedTest
    @CsvSource({
        "INT32, 2147483520",
        "INT32, -2147483648",
        "UINT32, 4294967040",
        "INT64, -9223372036854775808",
        "INT16, -32768",
        "UINT16, 65535",
        "INT8, 127",
        "INT8, -128",
        "UINT8, 255",
        "UINT64, 18446742974197923840",
        "UINT64, 9223372036854775808"
    })
    void aVoxelJustInsideOfATypeIsKept(VoxelType type, float voxel) throws Exception {
        Path file = folder.resolve("edge.nii");
        Nifti.write(file, Volume.of(1, 1, 1, new float[] {voxel}), type);

        assertThat(Nifti.read(file).voxels()).containsExactly(voxel);
    }
}
