package io.hvd.data;

/**
 * Says which samples this rank sees in an epoch, and in which order.
 *
 * <p>A sampler belongs to one thread, the one that iterates over the loader.
 */
public interface Sampler {

    /** The size of the data set that the indices point into. */
    int datasetSize();

    /** How many samples this rank sees in an epoch; the same in every epoch. */
    int length();

    /** How many of this rank's samples are repetitions that give all ranks as many; they stand at the end of {@link #indices()}. */
    default int padding() {
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
}
