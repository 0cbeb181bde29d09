package io.hvd.data;

/**
 * A sampler that can say where it is within an epoch, and go on from there with another number of ranks: in a later run, as {@code
 * AutoResume} has it, or in an elastic job by a {@code TrainingState}.
 */
public interface ResumableSampler extends Sampler, Stateful {
    /** The epoch under way; before the first iteration, and after {@link #setEpoch}, the one that comes next. */
    int epoch();

    /**
     * Deals what is left of the epoch to so many ranks. A pass that is under way ends with it: the next one is the rest.
     *
     * @throws IllegalArgumentException if the rank is outside [0, replicas - 1]
     */
    void deal(int replicas, int rank);

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
