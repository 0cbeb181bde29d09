package io.hvd.optimizer.step;

import io.hvd.optimizer.guard.DivergenceGuard;

/** The parts that make the ranks' models the same, and find that they are not. */
public record Replicas(StateBroadcast broadcast, ModelBuffers buffers, DivergenceGuard guard) {
    /** The fingerprint of the parameters before the first step; 0 if they are not to be compared. */
    long startHash() {
        return broadcast.isDone() ? 0 : guard.startHash();
    }
}
