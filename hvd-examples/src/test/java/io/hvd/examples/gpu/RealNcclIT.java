package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.examples.TrainJar;
import io.hvd.testing.HostCuda;
import io.hvd.testing.Job;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * NVIDIA's own NCCL and CUDA runtime, from the folders that {@code -Dhvd.test.nccl=FOLDER:FOLDER} names, on a CUDA driver
 * that runs on the CPU: they load and have what hvd calls. Nothing is sent by them, which takes a GPU.
 */
class RealNcclIT {
    private static final String FOLDERS = "hvd.test.nccl";
    private static final String NCCL = "libnccl.so.2";
    private static final String RUNTIME = "libcudart.so.13";
    private static final Path BINDING =
            Path.of("..", "hvd-core", "src/main/java/io/hvd/transport/nccl/natives/InstalledNccl.java");

    private static String folders;

    @BeforeAll
    static void find() {
        folders = System.getProperty(FOLDERS, "");
        Assumptions.assumeFalse(
                folders.isEmpty(), "-D" + FOLDERS + "=FOLDER:FOLDER names no place of " + NCCL + " and " + RUNTIME);
    }

    @Test
    void itLoadsAndTellsItsVersionAndPlace() throws IOException {
        Map<String, String> environment = HostCuda.with().environment(1);
        environment.merge("LD_LIBRARY_PATH", folders, (first, more) -> first + File.pathSeparator + more);
        environment.put("HOST_CUDA_VERSION", "13000");

        Job job = TrainJar.alone(environment, "gpu-check", "--versions", "table");

        assertThat(job.exitCode()).as(job.output()).isZero();
        String version = library(NCCL).toRealPath().getFileName().toString().replace(NCCL + ".", "2.");
        assertThat(job.lines("NCCL "))
                .singleElement()
                .asString()
                .contains(version + ", " + library(NCCL).getParent())
                .doesNotContain("missing");
        assertThat(job.lines("CUDA runtime "))
                .singleElement()
                .asString()
                .contains("13.", library(RUNTIME).getFileName().toString())
                .doesNotContain("missing");
    }

    @Test
    void itExportsEveryFunctionThatHvdCalls() throws IOException {
        Job symbols =
                Job.run(List.of("nm", "-D", "--defined-only", library(NCCL).toString()), Map.of());
        Assumptions.assumeTrue(symbols.exitCode() == 0, "nm of the binutils reads the library");
        List<String> called = Pattern.compile("import static org\\.bytedeco\\.cuda\\.global\\.nccl\\.(nccl[A-Z]\\w+);")
                .matcher(Files.readString(BINDING))
                .results()
                .map(found -> found.group(1))
                .toList();

        assertThat(called).contains("ncclAllReduce", "ncclCommAbort", "ncclGetUniqueId");
        assertThat(symbols.output().lines().map(line -> line.replaceAll("^.* [TWi] |@.*$", "")))
                .containsAll(called);
    }

    private static Path library(String name) {
        return Stream.of(folders.split(File.pathSeparator))
                .map(folder -> Path.of(folder, name))
                .filter(Files::exists)
                .findFirst()
                .orElseThrow(() -> new AssertionError("no " + name + " in " + folders));
    }
}
