package io.hvd.data;

/**
 * A sampler that can say where it is within an epoch, and go on from there in a later run, perhaps with another number of ranks. {@code
 * AutoResume} takes any of them.
 */
public interface ResumableSampler extends Sampler, Stateful {
    /**
     * Makes the next iteration that of this epoch, from its beginning. Where this is the epoch that comes next anyway, nothing changes,
     * so that a loop may call it before every epoch and a resumed one keeps its position.
     *
     * @throws IllegalArgumentException if the epoch is negative
     */
    void setEpoch(int next);

    /** The part of the epoch's samples that is done, from 0 to 1, by the batches that were {@linkplain #recordBatch recorded}. */
    double done();
}
