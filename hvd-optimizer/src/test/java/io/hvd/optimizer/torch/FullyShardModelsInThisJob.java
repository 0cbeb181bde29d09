package io.hvd.optimizer.torch;

import io.hvd.Hvd;

/** States and units of fully sharded models inside a rank of a job; {@link ShardedIT} starts it under mpirun. */
final class FullyShardModelsInThisJob extends FullyShardModels {
    @Override
    GradientSamples.Ranks ranks() {
        return body -> body.run(Hvd.context());
    }
}
