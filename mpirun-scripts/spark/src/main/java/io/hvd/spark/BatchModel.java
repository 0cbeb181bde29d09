package io.hvd.spark;

import io.hvd.spark.columns.ColumnBatch;

/**
 * A model that has been loaded. One thread at a time uses it.
 *
 * @param <A> an array with one element per row
 */
@FunctionalInterface
public interface BatchModel<A> {
    /** Computes the predictions of all rows of a batch, in their order. */
    A predict(ColumnBatch batch) throws Exception;
}
