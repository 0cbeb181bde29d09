package io.hvd.data;

/**
 * Decides at the start of an epoch how many batches this rank makes, so that ranks which train together do not wait for each
 * other for ever. {@code UnevenSteps} of {@code io.hvd.train} makes one of a process set.
 */
@FunctionalInterface
public interface EpochLengths {
    /**
     * Called once per epoch, on the thread that begins it; it may be a collective.
     *
     * @param batches that this rank has
     * @param samples of which these are made
     */
    Agreed agree(int batches, int samples);

    /** The samples are dealt to so many ranks, 0 if it is not known; asked before each epoch. */
    default void requireFor(int replicas) {}

    /**
     * This rank's share of an epoch.
     *
     * @param batches that it makes; samples are repeated if it has fewer
     * @param mostSamples of any rank
     */
    record Agreed(int batches, int mostSamples) {}
}
