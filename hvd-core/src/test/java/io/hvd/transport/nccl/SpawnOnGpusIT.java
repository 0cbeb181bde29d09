package io.hvd.transport.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.HostCuda;
import io.hvd.testing.Job;
import io.hvd.testing.Mpirun;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Threads of two processes under mpirun, which are the ranks of one job with a GPU each. */
class SpawnOnGpusIT {
    @Test
    void threadsOfSeveralProcessesTakeTheGpusOfTheirHostByLocalRank() {
        Map<String, String> environment = HostCuda.with().environment(4);
        Job job = Job.run(Mpirun.command(2, SpawnOnGpusProgram.class, "2"), environment);

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("RANK "))
                .as(job.output())
                .containsExactlyInAnyOrder(
                        "RANK 0 of 4 on cuda:0: current, sum 10.0",
                        "RANK 1 of 4 on cuda:1: current, sum 10.0",
                        "RANK 2 of 4 on cuda:2: current, sum 10.0",
                        "RANK 3 of 4 on cuda:3: current, sum 10.0");
    }

    @Test
    void moreThreadsThanGpusOfTheHostEndTheJobWithTheirNumbers() {
        Map<String, String> environment = HostCuda.with().environment(3);
        Job job = Job.run(Mpirun.command(2, SpawnOnGpusProgram.class, "2"), environment);

        assertThat(job.lines("too few for rank 3")).as(job.output()).isNotEmpty();
        assertThat(job.lines("RANK ")).as(job.output()).isEmpty();
    }
}
