package io.hvd.data;

/**
 * Says which samples this rank sees in an epoch, and in which order.
 *
 * <p>A sampler belongs to one thread, the one that iterates over the loader.
 */
public interface Sampler {

    /** The size of the data set that the indices point into. */
    int datasetSize();

    /**
     * How many samples this rank sees in the epoch under way, or before the first one in that which comes next. It is the
     * same in every epoch, except for the rest of one that an {@link ElasticSampler} resumes.
     */
    int length();

    /** How many of this rank's samples are repetitions that give all ranks as many; they stand at the end of {@link #indices()}. */
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

    /** What a rank may repeat that needs more samples than {@link #indices()}: those of the epoch as a whole. */
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
