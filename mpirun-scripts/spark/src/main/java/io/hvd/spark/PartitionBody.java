package io.hvd.spark;

import io.hvd.HvdContext;
import java.io.Serializable;
import java.util.List;

/** The program of each rank, with the rows of its partition. */
interface PartitionBody<T, R> extends Serializable {
    R run(HvdContext hvd, List<T> rows) throws Exception;
}
