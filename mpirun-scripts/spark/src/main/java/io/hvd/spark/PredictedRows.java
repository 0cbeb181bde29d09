package io.hvd.spark;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spark.columns.ColumnBatch;
import io.hvd.spark.columns.RowEncoder;
import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Queue;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;

/** The rows of a partition with one value more, in their order. It holds one batch at a time. */
final class PredictedRows<A> implements Iterator<Row> {
    private final Iterator<Row> rows;
    private final RowEncoder encoder;
    private final OutputColumn<A> output;
    private final Models<A> models;
    private final String who;
    private final Queue<Row> ready = new ArrayDeque<>();

    /** Where a batch has its model from. */
    interface Models<A> {
        /** A model that nobody else uses until it is given back. */
        BatchModel<A> take() throws Exception;

        /** Not one that has failed. */
        void give(BatchModel<A> model);
    }

    /**
     * @param models of the executor; each batch takes one, so that a task which computes many partitions needs no more than one
     * @param who the work and its partition, for messages
     */
    PredictedRows(Iterator<Row> rows, RowEncoder encoder, OutputColumn<A> output, Models<A> models, String who) {
        this.rows = rows;
        this.encoder = encoder;
        this.output = output;
        this.models = models;
        this.who = who;
    }

    @Override
    public boolean hasNext() {
        return !ready.isEmpty() || rows.hasNext();
    }

    @Override
    public Row next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        if (ready.isEmpty()) {
            fill();
        }
        return ready.remove();
    }

    private void fill() {
        List<Row> batch = new ArrayList<>(output.batchRows());
        while (batch.size() < output.batchRows() && rows.hasNext()) {
            batch.add(rows.next());
        }
        A predictions = predictions(batch);
        for (int i = 0; i < batch.size(); i++) {
            ready.add(with(batch.get(i), Array.get(predictions, i)));
        }
    }

    private A predictions(List<Row> batch) {
        try {
            List<ByteBuffer> records = batch.stream().map(encoder::encode).toList();
            BatchModel<A> model = models.take();
            A predictions = predict(model, encoder.layout().orElseThrow().batch(records));
            models.give(model);
            return predictions;
        } catch (OutOfMemoryError e) {
            throw e; // any thread of the executor may have lost something, so that Spark ends it
        } catch (Throwable e) {
            throw TaskFailure.of(who, e);
        }
    }

    private A predict(BatchModel<A> model, ColumnBatch batch) throws Exception {
        try {
            A predictions = model.predict(batch);
            if (Array.getLength(predictions) != batch.rows()) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        "the model has returned " + Array.getLength(predictions) + " predictions for a batch of "
                                + batch.rows() + " rows, expected one for each");
            }
            return predictions;
        } catch (Throwable e) {
            try {
                model.close();
            } catch (Exception closing) {
                e.addSuppressed(closing);
            }
            throw e;
        }
    }

    private static Row with(Row row, Object prediction) {
        Object[] values = new Object[row.size() + 1];
        Arrays.setAll(values, i -> i < row.size() ? row.get(i) : prediction);
        return RowFactory.create(values);
    }
}
