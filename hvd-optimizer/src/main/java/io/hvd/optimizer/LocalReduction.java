package io.hvd.optimizer;

/** How a rank combines the gradients of several backward passes before one step. */
public enum LocalReduction {
    /** They add up, as in Horovod's torch binding. */
    SUM,
    /** They are averaged, as if the passes were one larger batch. */
    MEAN
}
