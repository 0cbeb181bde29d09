package io.hvd.spark;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The rows of one rank's partition, in batches, as often as they are asked for. All ranks have the same number of batches, so
 * that none waits for another one at the end of an epoch: rows beyond those are left out.
 */
public final class RowBatches<T> implements Iterable<List<T>> {
    private final List<T> rows;
    private final int batchRows;
    private final int batches;

    /** All ranks come here together. */
    RowBatches(HvdContext hvd, List<T> rows, int batchRows) {
        this.rows = rows;
        this.batchRows = batchRows;
        Tensor least = hvd.allreduce(
                "hvd.spark.batches", Tensor.of(new int[] {rows.size() / batchRows}), AllreduceOptions.of(ReduceOp.MIN));
        this.batches = ((int[]) least.toArray())[0];
    }

    /** The number of batches of an epoch, the same on all ranks. */
    public int size() {
        return batches;
    }

    /** All rows of this rank, also those that are in no batch. */
    public List<T> rows() {
        return rows;
    }

    /** The batches of one epoch, in the order of the rows. */
    @Override
    public Iterator<List<T>> iterator() {
        return IntStream.range(0, batches)
                .mapToObj(batch -> rows.subList(batch * batchRows, (batch + 1) * batchRows))
                .iterator();
    }
}
