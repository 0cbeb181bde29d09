package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Under mpirun what {@link CallbacksTest} has with threads every day. */
@Tag("long")
class ScheduleIT {
    private static final int RANKS = 4;

    @Test
    void fourProcessesTrainWithTheRatesOfHorovodsVectors() {
        Job job = Job.horovodrun(RANKS, VectorRates.class);

        assertThat(job.exitCode()).as(job.output()).isZero();
        for (int rank = 0; rank < RANKS; rank++) {
            assertThat(job.lines("rank " + rank + " warm-up " + VectorRates.WARM_UP))
                    .hasSize(1);
            assertThat(job.lines("rank " + rank + " ImageNet " + VectorRates.IMAGE_NET))
                    .hasSize(1);
        }
    }
}
