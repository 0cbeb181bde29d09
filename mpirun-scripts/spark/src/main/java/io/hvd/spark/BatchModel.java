package io.hvd.spark;

import io.hvd.spark.columns.ColumnBatch;

/**
 * A model that has been loaded. One thread at a time uses it.
 *
 * @param <A> an array with one element per row
 */
@FunctionalInterface
public interface BatchModel<A> extends AutoCloseable {
    /** Computes the predictions of all rows of a batch, in their order. */
    A predict(ColumnBatch batch) throws Exception;

    /**
     * Frees what the model holds, such as native memory: at once when it has failed, or else when Spark has dropped the DataFrame's
     * models from the executor and the garbage collector has seen it.
     */
    @Override
    default void close() throws Exception {
        // most models hold nothing
    }
}
