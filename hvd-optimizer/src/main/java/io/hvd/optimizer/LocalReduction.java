package io.hvd.optimizer;

/** How a rank combines the gradients of several backward passes before one step. */
public enum LocalReduction {
    /** They add up, as in Horovod's torch binding. */
    SUM,
    /**
     * They are averaged, as if the passes were one larger batch: over the passes that were made, also where these are fewer than {@code
     * backwardPassesPerStep} says, as in the last step of an epoch, and with those inside of {@code noSync()}. Arrays of which no
     * gradient is announced by {@code gradientReady} count as so many passes as that setting says.
     */
    MEAN
}
