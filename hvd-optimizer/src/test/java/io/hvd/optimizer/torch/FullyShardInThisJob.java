package io.hvd.optimizer.torch;

import io.hvd.Hvd;

/** Fully sharded models inside a rank of a job; {@link ShardedIT} starts it under mpirun. */
final class FullyShardInThisJob extends FullyShardTraining {
    @Override
    GradientSamples.Ranks ranks() {
        return body -> body.run(Hvd.context());
    }
}
