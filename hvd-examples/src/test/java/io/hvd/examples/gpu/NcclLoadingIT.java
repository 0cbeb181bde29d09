package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.examples.TrainJar;
import io.hvd.testing.CppCompiler;
import io.hvd.testing.HostCuda;
import io.hvd.testing.Job;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIf;
import org.junit.jupiter.api.io.TempDir;

/**
 * NVIDIA's own CUDA runtime, where it is installed, through JavaCPP, between a driver and a NCCL whose versions the test
 * chooses: what a process finds, and what a job makes of it.
 */
@DisabledIf("driverIsLoaded")
class NcclLoadingIT {
    private static final String RUNTIME = "libcudart.so.13";
    private static final int CUDA_12 = 12040;
    private static final int CUDA_13 = 13000;

    @TempDir
    private static Path stub;

    private static HostCuda cuda;
    private static Path runtime;

    static boolean driverIsLoaded() {
        return Files.exists(Path.of("/dev/nvidiactl"));
    }

    @BeforeAll
    static void prepare() {
        runtime = Stream.of("cuda", "cuda-13.0", "cuda-13.1", "cuda-13.2", "cuda-13.3")
                .map(version -> Path.of("/usr/local", version, "lib64"))
                .filter(folder -> Files.exists(folder.resolve(RUNTIME)))
                .findFirst()
                .orElse(null);
        Assumptions.assumeTrue(runtime != null, "no " + RUNTIME + " in /usr/local/cuda*/lib64");
        cuda = HostCuda.with();
        CppCompiler.required()
                .compile(List.of(
                        "-shared",
                        "-fPIC",
                        "-Wl,-soname,libnccl.so.2",
                        "src/test/c/nccl_version.cpp",
                        "-o",
                        stub.resolve("libnccl.so.2").toString()));
    }

    @Test
    void whereAllVersionsFitTheyAreInTheTableWithTheirPlaces() {
        Job job = versions(CUDA_13, 22803);

        assertThat(row(job, "NCCL ")).contains("2.28.3, " + stub.resolve("libnccl.so.2"));
        assertThat(row(job, "CUDA runtime ")).contains("13.").contains(RUNTIME).doesNotContain("missing");
    }

    @Test
    void aNcclThatIsTooOldIsNamedWithItsVersionAndTheOneThatIsNeeded() {
        assertThat(row(versions(CUDA_13, 21705), "NCCL "))
                .contains("missing: ", "NCCL 2.17.5 is installed", "needs 2.18.0 or newer");
    }

    @Test
    void aRuntimeThatIsTooNewForTheDriverIsNamedInItsRowAndInNccls() {
        Job job = versions(CUDA_12, 22803);

        assertThat(row(job, "CUDA driver ")).contains("for CUDA 12.4");
        assertThat(row(job, "CUDA runtime ")).contains("missing: not usable, 13.", "this one is for CUDA 12.4");
        assertThat(row(job, "NCCL ")).contains("missing: ", "driver for CUDA 13 (580)", "this one is for CUDA 12.4");
    }

    /** Without the check the first call that needs the driver ends every job on such a machine, those on the CPU included. */
    @Test
    void aJobOnAMachineWhoseDriverIsTooOldForNcclGoesThroughTheHost() {
        Job job = TrainJar.mpirun(environment(1, CUDA_12, 22803), 1, "gpu-check", "--quick", "--only", "G3");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("CHECK G3.allreduce pass").get(0)).contains("without NCCL", "is for CUDA 12.4");
    }

    @Test
    void ranksThatShareAGpuWithoutHostIdsOfTheirOwnAreNamedBeforeNcclIsCalled() {
        Map<String, String> environment = environment(1, CUDA_13, 22803);
        environment.putAll(Map.of("HVD_BACKEND", "nccl", "HVD_SHARE_GPU", "1", "NCCL_HOSTID", "here"));

        Job job = TrainJar.mpirun(environment, 2, "gpu-check", "--quick", "--only", "G2");

        assertThat(job.exitCode()).as(job.output()).isNotZero();
        assertThat(job.output())
                .contains("HVD-201", "rank 0 (", "rank 1 (", "0000:01:00.0", "NCCL_HOSTID is \"here\" on both");
    }

    @Test
    void ranksThatShareAGpuByAVariableThatNcclIsTooOldForAreToldSo() {
        Map<String, String> environment = environment(1, CUDA_13, 22803);
        environment.putAll(Map.of("HVD_BACKEND", "nccl", "HVD_SHARE_GPU", "1", "NCCL_MULTI_RANK_GPU_ENABLE", "1"));

        Job job = TrainJar.mpirun(environment, 2, "gpu-check", "--quick", "--only", "G2");

        assertThat(job.exitCode()).as(job.output()).isNotZero();
        assertThat(job.output())
                .contains("HVD-201", "NCCL 2.28.3 does not know NCCL_MULTI_RANK_GPU_ENABLE", "NCCL 2.30.0 or newer");
    }

    private static Job versions(int driver, int nccl) {
        Job job = TrainJar.alone(environment(1, driver, nccl), "gpu-check", "--versions", "table");
        assertThat(job.exitCode()).as(job.output()).isZero();
        return job;
    }

    private static Map<String, String> environment(int devices, int driver, int nccl) {
        Map<String, String> environment = cuda.environment(devices);
        environment.merge("LD_LIBRARY_PATH", stub + ":" + runtime, (first, more) -> first + ":" + more);
        environment.put("HOST_CUDA_VERSION", String.valueOf(driver));
        environment.put("STUB_NCCL_VERSION", String.valueOf(nccl));
        return environment;
    }

    private static String row(Job job, String start) {
        return job.output()
                .lines()
                .filter(line -> line.startsWith(start))
                .findFirst()
                .orElseThrow(() -> new AssertionError(job.output()));
    }
}
