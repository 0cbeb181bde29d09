package io.hvd.spark;

import io.hvd.spark.columns.ReadColumns;
import io.hvd.spark.columns.RowEncoder;
import java.util.Iterator;
import java.util.Optional;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.StructType;

/** Computes the predictions of one partition. Spark sends it to each task. */
final class PredictTask<A> implements MapPartitionsFunction<Row, Row>, PredictedRows.Models<A> {
    private static final long serialVersionUID = 1L;

    private final StructType schema;
    private final OutputColumn<A> output;
    private final ModelLoader<A> loader;
    private final Broadcast<byte[]> bytes;
    private final Broadcast<ModelPool<A>> pool;

    PredictTask(
            StructType schema,
            OutputColumn<A> output,
            ModelLoader<A> loader,
            Broadcast<byte[]> bytes,
            Broadcast<ModelPool<A>> pool) {
        this.schema = schema;
        this.output = output;
        this.loader = loader;
        this.bytes = bytes;
        this.pool = pool;
    }

    /** On the task's thread. A partition without rows needs no model. */
    @Override
    public Iterator<Row> call(Iterator<Row> rows) {
        int partition = TaskContext.getPartitionId();
        RowEncoder encoder = new RowEncoder(ReadColumns.of(schema, output.inputs()), partition);
        return new PredictedRows<>(rows, encoder, output, this, who(partition));
    }

    private String who(int partition) {
        return "HvdSpark.predict of column \"" + output.name() + "\" has failed in partition " + partition;
    }

    @Override
    public BatchModel<A> take() throws Exception {
        Optional<BatchModel<A>> idle = pool.value().take();
        return idle.isPresent() ? idle.get() : loader.load(bytes.value());
    }

    @Override
    public void give(BatchModel<A> model) {
        pool.value().give(model);
    }
}
