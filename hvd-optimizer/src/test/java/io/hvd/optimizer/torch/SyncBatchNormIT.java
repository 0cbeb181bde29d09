package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.InsideMpirun;
import io.hvd.testing.Job;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Synchronised batch norms under real mpirun: among others, 4 ranks with 16 samples each train as one with 64. */
class SyncBatchNormIT {
    @Test
    @Tag("long")
    void fourRanksNormaliseAndTrainAsOneUnderMpirun() {
        Job job = Job.horovodrun(
                4,
                Map.of("HOROVOD_DYNAMIC_PROCESS_SETS", "1", "HVD_THREADS_PER_RANK", "1"),
                InsideMpirun.class,
                SyncBatchNormInThisJob.class.getName());

        assertThat(job.output()).contains("TESTS backend=mpi ranks=4 passed=");
        assertThat(job.exitCode()).as(job.output()).isZero();
        job.lines("TESTS ").forEach(System.out::println);
    }
}
