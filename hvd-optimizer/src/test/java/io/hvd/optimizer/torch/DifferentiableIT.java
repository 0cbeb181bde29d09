package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.InsideMpirun;
import io.hvd.testing.Job;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Backward through collectives under real mpirun. */
class DifferentiableIT {
    @Test
    void theGradientsAreTheSameUnderMpirun() {
        requireSameGradients(2);
    }

    @Test
    @Tag("long")
    void theGradientsOfFourRanksAreTheSameUnderMpirun() {
        requireSameGradients(4);
    }

    private static void requireSameGradients(int ranks) {
        Job job = Job.horovodrun(
                ranks,
                Map.of("HOROVOD_DYNAMIC_PROCESS_SETS", "1", "HVD_THREADS_PER_RANK", "1"),
                InsideMpirun.class,
                GradientsInThisJob.class.getName());

        assertThat(job.output()).contains("TESTS backend=mpi ranks=" + ranks + " passed=");
        assertThat(job.exitCode()).as(job.output()).isZero();
        job.lines("TESTS ").forEach(System.out::println);
    }

    @Test
    void aRankWhoseLossLeavesAnOutputOutEndsTheJobByName(@TempDir Path reports) {
        Job job = Job.horovodrun(
                2,
                Map.of(
                        "HOROVOD_STALL_CHECK_TIME_SECONDS", "1",
                        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "3",
                        "HVD_REPORT_DIR", reports.toString(),
                        "HVD_THREADS_PER_RANK", "1"),
                UnusedOutput.class);

        assertThat(job.exitCode()).as(job.output()).isNotZero();
        assertThat(job.lines("Missing: ")).anyMatch(line -> line.contains("rank 1 [features.grad]"));
        assertThat(job.output()).contains("the job hangs: ");
    }
}
