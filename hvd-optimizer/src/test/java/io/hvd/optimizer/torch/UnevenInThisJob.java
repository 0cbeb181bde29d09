package io.hvd.optimizer.torch;

import io.hvd.Hvd;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Uneven data inside a rank of a job; {@link ShardedIT} starts it under mpirun. */
@Timeout(120)
final class UnevenInThisJob {
    @Test
    void unevenBatchesAndStepsTrainAsOneRankWithAllSamples() {
        UnevenTraining.requireAsOneRank(Hvd.context());
    }
}
