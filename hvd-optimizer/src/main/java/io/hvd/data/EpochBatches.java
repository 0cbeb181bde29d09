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

    /**
     * One epoch.
     *
     * @param <B> a batch
     */
    interface Pass<B> extends Iterator<B> {
        /** Batches of this epoch on this rank. */
        int batches();
    }
}
