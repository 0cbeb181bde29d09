package io.hvd.spark;

import io.hvd.HvdContext;
import java.io.Serializable;

/** The program of each rank of {@link HvdSpark#train}, which Spark sends to the executors with everything that it refers to. */
@FunctionalInterface
public interface RowsBody<T, R> extends Serializable {
    /** Runs the program of one rank on its share of the rows. */
    R run(HvdContext hvd, RowBatches<T> rows) throws Exception;
}
