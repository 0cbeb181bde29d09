package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Optimizers on LibTorch and on arrays go on in the next generation of processes under mpirun. */
class RebindIT {
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void theWeightsAreThoseOfATrainingWithoutABreakToTheLastBit(int ranks) {
        Job job = Job.horovodrun(ranks, Map.of("HVD_THREADS_PER_RANK", "1"), RebindProgram.class);

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("REBOUND torch=true arrays=true")).as(job.output()).hasSize(ranks);
    }
}
