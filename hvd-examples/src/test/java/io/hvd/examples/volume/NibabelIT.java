package io.hvd.examples.volume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Python's nibabel reads what {@link Nifti} has written, and writes what it reads. The property {@code hvd.test.python} names a
 * Python other than {@code python3} that has it (Debian's python3-nibabel is for {@code /usr/bin/python3}).
 */
@Tag("long")
class NibabelIT {
    private static final String PYTHON = System.getProperty("hvd.test.python", "python3");

    /** Prints type, shape, the corner of the affine map, and all voxels with the first index changing fastest. */
    private static final String READING = """
            import sys, nibabel
            for name in sys.argv[1:]:
                image = nibabel.load(name)
                print(image.get_data_dtype(), image.shape, image.affine[:3].flatten().tolist(),
                      image.get_fdata().flatten(order="F").tolist())
            """;

    private static final String WRITING = """
            import sys, nibabel, numpy
            values = numpy.arange(3 * 4 * 5).reshape((3, 4, 5, 1), order="F")
            affine = numpy.diag([2.0, 3.0, 4.0, 1.0])
            for kind in ["u1", "i1", "i2", "u2", "i4", "u4", "i8", "f4", "f8"]:
                for end in ["<", ">"]:
                    header = nibabel.Nifti1Header(endianness=end)
                    header.set_data_dtype(numpy.dtype(kind).newbyteorder(end))
                    data = values.astype(kind) if kind[0] != "f" else (values / 8 - 2).astype(kind)
                    image = nibabel.Nifti1Image(data, affine, header)
                    nibabel.save(image, sys.argv[1] + "/" + kind + ("l" if end == "<" else "b") + ".nii.gz")
            scaled = nibabel.Nifti1Image(values / 59 - 0.5, affine)
            scaled.set_data_dtype(numpy.int16)
            nibabel.save(scaled, sys.argv[1] + "/scaled.nii")
            """;

    @TempDir
    Path folder;

    @BeforeEach
    void needsPython() throws Exception {
        boolean there;
        try {
            there = python("import nibabel").waitFor() == 0;
        } catch (IOException e) {
            there = false;
        }
        assumeTrue(there, "no Python with nibabel; -Dhvd.test.python names one");
    }

    private Process python(String script, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(PYTHON, "-c", script));
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command)
                .redirectOutput(folder.resolve("out").toFile())
                .redirectError(folder.resolve("err").toFile())
                .start();
    }

    private List<String> run(String script, String... arguments) throws Exception {
        Process process = python(script, arguments);
        assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
        assertThat(process.exitValue())
                .as(Files.readString(folder.resolve("err")))
                .isZero();
        return Files.readAllLines(folder.resolve("out"));
    }

    @Test
    void nibabelReadsEveryTypeThatIsWritten() throws Exception {
        float[] voxels = {0, 1, 2, 3, 4, 100};
        VoxelSpace space = new VoxelSpace(
                new float[] {1, 2, 3, 4, 1, 1, 1, 1}, (byte) 2, (short) 0, (short) 2, new float[6], new float[] {
                    2, 0, 0, -5, 0, 3, 0, 6, 0, 0, 4, 7
                });
        List<String> files = new ArrayList<>();
        for (VoxelType type : VoxelType.values()) {
            for (String end : new String[] {".nii", ".nii.gz"}) {
                Path file = folder.resolve(type + end);
                Nifti.write(file, new Volume(1, 2, 3, voxels, space), type);
                files.add(file.toString());
            }
        }

        List<String> lines = run(READING, files.toArray(String[]::new));

        assertThat(lines).hasSize(2 * VoxelType.values().length);
        for (VoxelType type : VoxelType.values()) {
            String expected = type.name().toLowerCase(Locale.ROOT)
                    + " (1, 2, 3, 1) [2.0, 0.0, 0.0, -5.0, 0.0, 3.0, 0.0, 6.0, 0.0, 0.0, 4.0, 7.0]"
                    + " [0.0, 1.0, 2.0, 3.0, 4.0, 100.0]";
            assertThat(lines.subList(2 * type.ordinal(), 2 * type.ordinal() + 2))
                    .containsOnly(expected);
        }
    }

    @Test
    void whatNibabelWritesIsReadInBothByteOrdersAndWithAScale() throws Exception {
        run(WRITING, folder.toString());

        for (String kind : List.of("u1", "i1", "i2", "u2", "i4", "u4", "i8", "f4", "f8")) {
            for (String end : List.of("l", "b")) {
                Volume read = Nifti.read(folder.resolve(kind + end + ".nii.gz"));
                assertThat(read.sizes()).isEqualTo("3x4x5");
                assertThat(read.space().affine()).containsExactly(2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4, 0);
                for (int i = 0; i < 60; i++) {
                    float expected = kind.startsWith("f") ? i / 8f - 2 : i;
                    assertThat(read.voxels()[i]).as(kind + end).isEqualTo(expected);
                }
            }
        }
        float[] scaled = Nifti.read(folder.resolve("scaled.nii")).voxels();
        for (int i = 0; i < 60; i++) {
            assertThat(scaled[i]).isBetween(i / 59f - 0.501f, i / 59f - 0.499f);
        }
    }
}
