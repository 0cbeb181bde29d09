package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.InsideMpirun;
import io.hvd.testing.Job;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Optimizer state and whole models that are shared out to ranks, hvd's own reducers of gradients, uneven data, Adasum, the loss scale and groups of gradients,
 * under real mpirun: in one job, because the start of a job takes longer than these tests.
 */
class ShardedIT {
    @Test
    void threeRanksShareTheStateReduceGradientsAndHaveUnevenDataAsThreadsDo() {
        Job job = Job.horovodrun(
                3,
                Map.of("HVD_THREADS_PER_RANK", "1", "HOROVOD_DYNAMIC_PROCESS_SETS", "1"),
                InsideMpirun.class,
                ShardedInThisJob.class.getName(),
                FullyShardInThisJob.class.getName(),
                FullyShardModelsInThisJob.class.getName(),
                "io.hvd.optimizer.ReducersInThisJob",
                UnevenInThisJob.class.getName(),
                "io.hvd.optimizer.AdasumInThisJob",
                "io.hvd.optimizer.ScalerInThisJob",
                "io.hvd.optimizer.GroupsInThisJob");

        assertThat(job.output()).contains("TESTS backend=mpi ranks=3 passed=");
        assertThat(job.exitCode()).as(job.output()).isZero();
        job.lines("TESTS ").forEach(System.out::println);
    }
}
