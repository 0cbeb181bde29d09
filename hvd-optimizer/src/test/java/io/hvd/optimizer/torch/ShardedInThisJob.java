package io.hvd.optimizer.torch;

import io.hvd.Hvd;

/** Shared-out state inside a rank of a job; {@link ShardedIT} starts it under mpirun. */
final class ShardedInThisJob extends ShardedTraining {
    @Override
    GradientSamples.Ranks ranks() {
        return body -> body.run(Hvd.context());
    }
}
