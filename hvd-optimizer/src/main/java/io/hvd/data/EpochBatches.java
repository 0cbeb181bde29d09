package io.hvd.data;

import java.util.Iterator;

/**
 * Batches of which each epoch knows at its start how many there are, as the epochs of a {@link DataLoader} do.
 *
 * @param <B> a batch
 */
public interface EpochBatches<B> extends Iterable<B> {
    /** Begins the next epoch. */
    @Override
    Pass<B> iterator();

    /** Batches of the next epoch on this rank, as far as they are known before it begins. */
    int batches();

    /** The number of ranks that the samples are dealt to; 0 if it is not known. */
    default int replicas() {
        return 0;
    }

    /**
     * Nanoseconds that loops have waited for their batches, in all epochs so far: the time inside {@link Pass#next}. Without
     * workers this is the whole time of reading; with workers that keep up it is close to zero. The share of a step is the
     * difference of two readings over the time between them. Any thread may ask.
     */
    long waitNanos();

    /**
     * One epoch.
     *
     * @param <B> a batch
     */
    interface Pass<B> extends Iterator<B> {
        /** Batches of this epoch on this rank. */
        int batches();

        /**
         * The part of the epoch, from 0 to 1, that is done after some batches of this pass. A pass that is the rest of an epoch does
         * not begin with 0.
         *
         * @param taken batches of this pass that are done
         * @param of how many there are, {@link #batches} or, where ranks join, the most of any rank
         */
        default double progress(int taken, int of) {
            return of == 0 ? 1 : taken / (double) of;
        }

        /** Whether {@link #next} would return at once, as far as this is known. */
        default boolean isNextReady() {
            return false;
        }
    }
}
