package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.HostCuda;
import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIf;
import org.junit.jupiter.api.io.TempDir;

/**
 * LibTorch's build for GPUs, the jar that {@code -Dhvd.test.torchForGpus=JAR} names (455 MB), on a machine without a GPU:
 * what it needs is said in words. With CUDA's libraries in {@code -Dhvd.test.cuda=FOLDER:FOLDER} it is loaded whole.
 */
@DisabledIf("driverIsLoaded")
class TorchForGpusIT {
    private static final String JAR = "hvd.test.torchForGpus";
    private static final String FOLDERS = "hvd.test.cuda";
    private static final Path TARGET = Path.of("target").toAbsolutePath();

    @TempDir
    Path folder;

    private Path train;

    static boolean driverIsLoaded() {
        return Files.exists(Path.of("/dev/nvidiactl"));
    }

    /** Makes a train.jar beside which LibTorch's build for GPUs has the name of the one for CPUs. */
    @BeforeEach
    void exchange() throws IOException {
        String jar = System.getProperty(JAR, "");
        Assumptions.assumeFalse(jar.isEmpty(), "-D" + JAR + "=JAR names no build of LibTorch for GPUs");
        Files.createDirectory(folder.resolve("lib"));
        train = Files.copy(TARGET.resolve("train.jar"), folder.resolve("train.jar"));
        try (var jars = Files.newDirectoryStream(TARGET.resolve("lib"), "*.jar")) {
            for (Path each : jars) {
                String name = each.getFileName().toString();
                boolean natives = name.matches("pytorch-.*-linux-x86_64\\.jar");
                Files.createSymbolicLink(folder.resolve("lib").resolve(name), natives ? Path.of(jar) : each);
            }
        }
    }

    /** Links to files outside of the folder are not left to whoever empties it. */
    @AfterEach
    void unlink() throws IOException {
        if (train != null) {
            try (var links = Files.newDirectoryStream(folder.resolve("lib"))) {
                for (Path link : links) {
                    Files.delete(link);
                }
            }
        }
    }

    private Job digits(String libraries, String device) {
        return Job.run(
                List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Dorg.bytedeco.javacpp.cachedir=" + folder.resolve("cache"),
                        "-jar",
                        train.toString(),
                        "digits",
                        "--epochs",
                        "1",
                        "--device",
                        device),
                Map.of("LD_LIBRARY_PATH", libraries));
    }

    @Test
    void withoutCudasLibrariesAllThatAreMissingAreNamed() {
        Job job = digits("", "cuda");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.lines("io.hvd.error.HvdException"))
                .as(job.output())
                .singleElement()
                .asString()
                .contains("libcublas.so.13", "libcudnn.so.9", "libnccl.so.2", "libcusolver.so.12", "LD_LIBRARY_PATH");
    }

    /** Such a train.jar trains on the CPU too, and says that it is the driver that is missing. */
    @Test
    void withCudasLibrariesTheDriverIsMissing() {
        String libraries = System.getProperty(FOLDERS, "");
        Assumptions.assumeFalse(libraries.isEmpty(), "-D" + FOLDERS + "=FOLDER:FOLDER names no libraries of CUDA");

        Job trained = digits(libraries, "cpu");
        assertThat(trained.exitCode()).as(trained.output()).isZero();
        assertThat(trained.lines("RESULT example=digits ranks=1 epochs=1")).hasSize(1);

        Job refused = digits(libraries, "cuda");
        assertThat(refused.exitCode()).as(refused.output()).isEqualTo(1);
        assertThat(refused.output()).contains("there is no NVIDIA driver: the loader does not find libcuda.so.1");
    }

    /** A driver that LibTorch cannot use, as an old one is. */
    @Test
    void withADriverThatHasNoGpuForItTheDriverIsToBlame() {
        String libraries = System.getProperty(FOLDERS, "");
        Assumptions.assumeFalse(libraries.isEmpty(), "-D" + FOLDERS + "=FOLDER:FOLDER names no libraries of CUDA");

        Job refused = digits(HostCuda.withoutFunctions().folder() + ":" + libraries, "cuda");
        assertThat(refused.output()).contains("it sees no GPU: the driver is too old");
    }
}
