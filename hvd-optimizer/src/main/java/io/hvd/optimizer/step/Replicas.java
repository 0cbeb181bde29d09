package io.hvd.optimizer.step;

import io.hvd.optimizer.guard.DivergenceGuard;

/** What makes the ranks' models the same, and finds that they are not. */
public record Replicas(StateBroadcast broadcast, ModelBuffers buffers, DivergenceGuard guard) {
    /** What the parameters are before the first step, as a number; 0 if they are not to be compared. */
    long startHash() {
        return broadcast.isDone() ? 0 : guard.startHash();
    }
}
