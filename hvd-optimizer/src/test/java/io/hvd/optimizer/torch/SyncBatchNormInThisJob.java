package io.hvd.optimizer.torch;

import io.hvd.Hvd;

/** Synchronised batch norms inside a rank of a job; {@link SyncBatchNormIT} starts it under mpirun. */
final class SyncBatchNormInThisJob extends SyncedBatches {
    @Override
    GradientSamples.Ranks ranks() {
        return body -> body.run(Hvd.context());
    }
}
