package io.hvd.optimizer;

import java.util.List;

/**
 * An optimizer that steps one rank's share of a model's parameters, and so keeps the state of this share only; what {@link
 * ShardedOptimizer} works on. Its {@link Optimizer#parameters} are those of the whole model, in the same order on all ranks.
 */
public interface ShardedState extends Optimizer {
    /** The rank within the process set that steps each parameter. */
    int[] owners();

    /** Bytes of the buffers that this rank's share has by now. */
    long stateBytes();

    /** This rank's share of the state, for {@link #join}. */
    byte[] saveShare();

    /**
     * Makes the state of an optimizer that is not sharded, as its {@link Optimizer#saveState} writes it.
     *
     * @param shares by rank within the process set; null for a rank whose share is not known and counts as fresh
     */
    byte[] join(List<byte[]> shares);
}
