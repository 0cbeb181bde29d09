package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.examples.TrainJar;
import io.hvd.testing.HostCuda;
import io.hvd.testing.Job;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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
    @ParameterizedTest(name = "{0} ranks")
    @CsvSource({"1, 19", "2, 21"})
    void everyCheckPassesThroughTheHost(int ranks, int checks) {
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

    @Test
    void moreRanksThanGpusAreRefused() {
        Job job = TrainJar.mpirun(cuda.environment(1), 2, "gpu-check", "--more-ranks-than-gpus");

        assertThat(job.lines("RESULT gpu_check=pass")).as(job.output()).isNotEmpty();
        assertThat(job.lines("CHECK G1 pass").get(0))
                .contains("HVD-107", "has 2 ranks but only 1 visible GPU", "CPU in place of GPU 0");
    }

    @Test
    void withoutAGpuNothingIsRun() {
        Job job = TrainJar.mpirun(cuda.environment(0), 1, "gpu-check", "--quick");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(2);
        assertThat(job.lines("RESULT gpu_check=not-run")).hasSize(1);
    }
}
