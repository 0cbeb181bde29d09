package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.HostCuda;
import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIf;
import org.junit.jupiter.api.io.TempDir;

/**
 * The whole of gpu-check.sh with the real train.jar and real mpirun, on a CUDA driver that runs on the CPU, so that the
 * minutes on a GPU are not spent on mistakes of the script. What needs NCCL or compute-sanitizer does not run here.
 */
@DisabledIf("driverIsLoaded")
@Tag("long")
class GpuCheckRehearsalIT {
    private static final Path SCRIPT = Path.of("..", "mpirun-scripts", "gpu-check.sh");
    private static final HostCuda.Kernels MLP =
            new HostCuda.Kernels(Path.of("src/main/cuda/mlp.cu"), Path.of("src/made/io/hvd/examples/cuda/mlp.ptx"));

    @TempDir
    Path folder;

    static boolean driverIsLoaded() {
        return Files.exists(Path.of("/dev/nvidiactl"));
    }

    private Job check(Path record, String... flags) {
        Map<String, String> environment = new HashMap<>(HostCuda.with(MLP).environment(1));
        environment.put("JAVA_HOME", System.getProperty("java.home"));
        environment.put("HVD_THREADS_PER_RANK", "1");
        // The tests' own setting would hide the GPU; and a short life is compiled quickly.
        environment.put("CUDA_VISIBLE_DEVICES", "0");
        environment.put("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1");
        List<String> command = new ArrayList<>(List.of(SCRIPT.toString(), "--quick", "--out", record.toString()));
        command.addAll(List.of(flags));
        return Job.run(command, environment, 600);
    }

    @Test
    void twoCallsMakeAllChecksThatNeedNeitherNcclNorMemcheck() throws IOException {
        Path record = folder.resolve("record.md");

        Job first = check(record, "--limit", "45s");
        String between = Files.readString(record);
        Job second = check(record, "--limit", "9m");
        String written = Files.readString(record);

        assertThat(first.seconds()).isLessThan(60);
        assertThat(first.exitCode()).as(first.output()).isIn(2, 3);
        assertThat(between).startsWith("# GPU record of ").contains("| G6 | ");
        assertThat(second.exitCode()).as(second.output()).isEqualTo(2);
        assertThat(second.lines("RESULT "))
                .singleElement()
                .asString()
                .contains("gpu_check=not-run ", " failed=0 ", " left=0 ", " driver=stand-in");
        assertThat(written)
                .contains("**Not a record of a GPU**")
                .contains("rank 1 on ", "CPU in place of GPU 0")
                .contains("[HVD-107]")
                .contains("a rank dies in the middle of an allreduce: rank 1 ended without a word")
                .containsPattern("(?m)^    alltoall +65536 +\\d+\\.\\d\\d +\\d+\\.\\d\\d +\\d+\\.\\d\\d +0$")
                .containsPattern("\\| hvd, 2 ranks on one GPU \\|");
        for (String passed : List.of("G1", "G3", "G4", "G5", "G7")) {
            assertThat(written.lines().filter(line -> line.startsWith("<!-- check " + passed + " pass ")))
                    .as(written)
                    .hasSize(1);
        }
        // The everyday build has LibTorch for CPUs.
        assertThat(written)
                .containsPattern("\\| G8 \\| training with LibTorch on the GPU \\| not-run \\| .*no LibTorch for GPUs")
                .containsPattern("\\| G9 \\| allreduce beside LibTorch's own NCCL \\| not-run \\| .*no LibTorch");
        assertThat(written).containsPattern("\\| G2 \\| collectives by NCCL \\| not-run \\| no NCCL: ");
    }
}
