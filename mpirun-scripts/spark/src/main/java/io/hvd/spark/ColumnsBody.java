package io.hvd.spark;

import io.hvd.HvdContext;
import java.io.Serializable;

/** The program of each rank that reads columns, which Spark sends to the executors with everything that it refers to. */
@FunctionalInterface
public interface ColumnsBody<R> extends Serializable {
    /** Runs the program of one rank on its rows. */
    R run(HvdContext hvd, SparkRows rows) throws Exception;
}
