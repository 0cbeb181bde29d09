package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.examples.TrainJar;
import io.hvd.testing.HostCuda;
import io.hvd.testing.Job;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * gpu-check as a whole, under real mpirun, on a CUDA driver that runs on the CPU: JCuda's natives, hvd's kernels, the
 * way through pinned memory and MPI. Its speeds say nothing.
 */
class GpuCheckIT {
    private static HostCuda cuda;

    @BeforeAll
    static void compile() {
        cuda = HostCuda.with();
    }

    /** One rank has nobody to send to, and no set of fewer ranks. */
    @Test
    void everyCheckPassesThroughTheHost() {
        requirePasses(2, 21);
    }

    @Test
    @Tag("long")
    void everyCheckOfOneRankPassesThroughTheHost() {
        requirePasses(1, 19);
    }

    private static void requirePasses(int ranks, int checks) {
        Job job = TrainJar.mpirun(cuda.environment(2), ranks, "gpu-check", "--quick");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("RESULT gpu_check=pass ranks=" + ranks + " passed=" + checks + " failed=0 not_run=0"))
                .hasSize(1);
        for (String check : List.of(
                "G1",
                "G3.allreduce",
                "G3.grouped",
                "G3.ordered",
                "G3.compressed",
                "G3.uneven-allgather",
                "G3.alltoall-splits",
                "G3.reducescatter-remainder",
                "G3.alltoall",
                "G4",
                "G7")) {
            assertThat(job.lines("CHECK " + check + " pass")).as(job.output()).hasSize(1);
        }
        assertThat(job.lines("CHECK G7 pass").get(0))
                .containsPattern("a waiting thread goes on -?[0-9.]+ us after the GPU \\(median\\)");
        assertThat(job.lines("CHECK G3.send-receive pass")).hasSize(ranks - 1);
        assertThat(job.lines("CHECK G3.process-set pass")).hasSize(ranks - 1);
        assertThat(job.lines("CHECK G1 pass").get(0))
                .contains("rank " + (ranks - 1) + " on ", "CPU in place of GPU " + (ranks - 1));
    }

    /** On a GPU this takes an abort of NCCL; here it takes the end of a wait for the host. */
    @Test
    void theRanksThatSurviveAnotherSayWhoHasDiedAndTheJobEndsSoon() {
        Job job = TrainJar.mpirun(cuda.environment(2), 2, "gpu-check", "--quick", "--rank-dies");

        assertThat(job.exitCode()).as(job.output()).isNotZero();
        assertThat(job.lines(
                        "CHECK G3.rank-dies pass rank 1 ended without a word in the middle of an allreduce; rank 0"))
                .as(job.output())
                .hasSize(1);
    }

    @Test
    @Tag("long")
    void aRankThatIsAloneIsNotMadeToDie() {
        Job job = TrainJar.mpirun(cuda.environment(1), 1, "gpu-check", "--rank-dies");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(2);
        assertThat(job.output()).contains("--rank-dies needs 2 ranks or more, this job has 1");
    }

    /** CollectiveSweepTest has the results, and SweepPlanTest the sizes, every day. */
    @Test
    @Tag("long")
    void theTimesOfCollectivesAreTakenOnTensorsOfTheCpuToo() {
        Job job = TrainJar.mpirun(
                Map.of(), 3, "gpu-check", "--cpu", "--only", "G7", "--begin", "8", "--end", "64K", "--factor", "8");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("G7: float32, 3 ranks, tensors on the CPU, ")).hasSize(1);
        // 8 bytes are less than an element for each of three ranks.
        assertThat(rows(job, "allreduce")).containsExactly("8", "64", "512", "4096", "32768");
        assertThat(rows(job, "broadcast")).containsExactly("8", "64", "512", "4096", "32768");
        for (String divided : List.of("allgather", "reducescatter", "alltoall")) {
            assertThat(rows(job, divided)).containsExactly("60", "504", "4092", "32760");
        }
        assertThat(job.lines("CHECK G7 pass 0 wrong; allreduce ").get(0)).contains("tensors on the CPU");
    }

    /** Without a GPU LibTorch's own allreduce is Gloo's. */
    @Test
    void theAllreduceIsMeasuredBesideLibTorchsOnTheCpuToo() {
        Job job = TrainJar.mpirun(
                Map.of(), 2, "gpu-check", "--cpu", "--only", "G9", "--end", "64K", "--factor", "64", "--calls", "3");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("G9: allreduce of float32, 2 ranks, ").get(0)).contains(" beside LibTorch's Gloo; ");
        assertThat(job.output()
                        .lines()
                        .filter(line -> line.matches("beside-libtorch +\\d+ +\\d+\\.\\d\\d +\\d+\\.\\d\\d +0"))
                        .map(line -> line.split(" +")[1]))
                .containsExactly("8", "512", "32768");
        assertThat(job.lines("CHECK G9 pass 0 wrong; 8 B: hvd ")).hasSize(1);
    }

    @Test
    void withoutAGpuForLibTorchTheComparisonIsNotRunAndSaysWhy() {
        Job job = TrainJar.alone(cuda.environment(1), "gpu-check", "--only", "G9");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(2);
        assertThat(job.lines("CHECK G9 not-run LibTorch on the class path is its build for CPUs"))
                .hasSize(1);
    }

    /** The sizes of the rows of a collective, all of which must have a time, two bandwidths and no wrong element. */
    private static List<String> rows(Job job, String collective) {
        List<String> rows = job.output()
                .lines()
                .filter(line -> line.startsWith(collective + " "))
                .toList();
        assertThat(rows).allMatch(row -> row.matches("\\w+ +\\d+ +\\d+\\.\\d\\d +\\d+\\.\\d\\d +\\d+\\.\\d\\d +0"));
        return rows.stream().map(row -> row.split(" +")[1]).toList();
    }

    @Test
    void moreRanksThanGpusAreRefused() {
        Job job = TrainJar.mpirun(cuda.environment(1), 2, "gpu-check", "--more-ranks-than-gpus");

        assertThat(job.lines("RESULT gpu_check=pass")).as(job.output()).isNotEmpty();
        assertThat(job.lines("CHECK G1 pass").get(0))
                .contains("HVD-107", "has 2 ranks but only 1 visible GPU", "CPU in place of GPU 0");
    }

    @Test
    void withoutAGpuNothingIsRun() {
        Job job = TrainJar.alone(cuda.environment(0), "gpu-check", "--quick");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(2);
        assertThat(job.lines("RESULT gpu_check=not-run")).hasSize(1);
    }
}
