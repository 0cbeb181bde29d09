package io.hvd.spark;

import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.Sampler;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spark.columns.ColumnBatch;
import io.hvd.spark.columns.RowLayout;
import io.hvd.tensor.Shape;
import io.hvd.train.UnevenSteps;
import java.util.List;

/**
 * The rows of one rank's partition, in a file of the executor's that is mapped into memory: epochs can be repeated and shuffled without
 * another run of what made the rows, and the heap holds no more than the batches under way. A sample is a batch of one row.
 *
 * <pre>{@code
 * try (var loader = rows.loader().build()) {
 *     for (int epoch = 0; epoch < epochs; epoch++) {
 *         for (ColumnBatch batch : loader) {
 *             step(batch.floats("pixels"), batch.ints("label"));
 *         }
 *     }
 * }
 * }</pre>
 *
 * <p>Any thread may read, as the workers of a loader do.
 */
public final class SparkRows implements Dataset<ColumnBatch> {
    private final HvdContext hvd;
    private final Spill spill;
    private final RowLayout layout;
    private final int batchRows;

    /** All ranks come here together. */
    SparkRows(HvdContext hvd, Spill spill, int batchRows) {
        this.hvd = hvd;
        this.spill = spill;
        this.batchRows = batchRows;
        this.layout = AgreedShapes.of(hvd, spill);
    }

    /** The number of rows of this rank. */
    @Override
    public int size() {
        return spill.records().size();
    }

    /** A row, as a batch of one. */
    @Override
    public ColumnBatch get(int index) {
        return layout.batch(List.of(spill.records().get(index)));
    }

    /**
     * The shape of a column's value in one row, the same on all ranks, also on one without rows: [] of a number, [784] of an array.
     *
     * @throws HvdException with {@link ErrorId#BAD_ARGUMENT} if the column was not read
     */
    public Shape shape(String column) {
        int index = spill.columns().names().indexOf(column);
        if (index < 0) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "no column \"" + column + "\" was read, expected one of "
                            + spill.columns().names());
        }
        return layout.shapes().get(index);
    }

    /** A sampler of this rank's rows in another order in each epoch. */
    public PartitionSampler shuffled(long seed) {
        return new PartitionSampler(size(), true, seed);
    }

    /** A sampler of this rank's rows in the order in which Spark has given them, which may be another one in another run. */
    public PartitionSampler inOrder() {
        return new PartitionSampler(size(), false, 0);
    }

    /** A loader of shuffled batches, as {@link #loader(Sampler)} makes it. */
    public DataLoader.Builder<ColumnBatch, ColumnBatch> loader() {
        return loader(shuffled(0));
    }

    /**
     * Begins with the options' rows in each batch, and {@link UnevenSteps#PAD}: a rank with fewer batches repeats rows, so that none
     * waits for another one. {@code evenSteps} of the builder changes this.
     */
    public DataLoader.Builder<ColumnBatch, ColumnBatch> loader(Sampler sampler) {
        return DataLoader.<ColumnBatch, ColumnBatch>builder(this, sampler, ColumnBatch::of)
                .batchSize(batchRows)
                .evenSteps(UnevenSteps.PAD.among(hvd));
    }
}
