package io.hvd.data;

/**
 * The samples that this rank sees in an epoch, and their order.
 *
 * <p>A sampler belongs to one thread, the one that iterates over the loader.
 */
public interface Sampler {

    /** The size of the data set that the indices point into. */
    int datasetSize();

    /**
     * The number of samples that this rank sees in the epoch under way; before the first one, in the next. It is the
     * same in every epoch, except for the rest of one that an {@link ElasticSampler} resumes.
     */
    int length();

    /** The number of this rank's samples that are repetitions, made so that all ranks have as many; they stand at the end of {@link #indices()}. */
    default int padding() {
        return 0;
    }

    /** The number of ranks that it deals the data set to; 0 if it does not say. */
    default int replicas() {
        return 0;
    }

    /** The indices of the current epoch in their order, {@link #length()} of them, in an array of the caller's own. */
    int[] indices();

    /**
     * Begins an iteration and returns its indices; the loader calls it once per epoch. A sampler whose order depends on
     * the epoch moves on here.
     */
    default int[] beginEpoch() {
        return indices();
    }

    /**
     * Learns that the loader has handed out a batch; the loader calls it on the iterating thread. Batches that are only
     * loaded ahead do not count.
     *
     * @param batchSize samples of a full batch on this rank, also if this one has fewer
     */
    default void recordBatch(int batchSize) {}

    /** Whether the pass under way is the rest of an epoch that an earlier run has begun, the same on all ranks. */
    default boolean isRest() {
        return false;
    }

    /** The samples of the epoch as a whole, which a rank may repeat that needs more than {@link #indices()}. */
    default int[] repeatable() {
        return indices();
    }

    /**
     * The part of the epoch, from 0 to 1, that is done after some batches of the pass under way; a pass may be the rest of an epoch.
     *
     * @param batchSize samples of a full batch on this rank
     * @param taken batches of the pass that are done
     * @param batches of the pass
     */
    default double progress(int batchSize, int taken, int batches) {
        return batches == 0 ? 1 : taken / (double) batches;
    }
}
