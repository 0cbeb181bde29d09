package io.hvd.data;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.function.BooleanSupplier;
import java.util.function.Function;

/** The batches of one epoch, each of which any thread may make. It holds no state of a running epoch. */
final class BatchPlan<S, B> {

    private final Dataset<S> dataset;
    private final int[] order;
    private final int batchSize;
    private final Function<? super List<S>, ? extends B> collate;

    BatchPlan(Dataset<S> dataset, int[] order, int batchSize, Function<? super List<S>, ? extends B> collate) {
        this.dataset = dataset;
        this.order = order;
        this.batchSize = batchSize;
        this.collate = collate;
    }

    /**
     * Reads and collates on the calling thread.
     *
     * @param unwanted asked before each sample; once true, the rest is not read
     * @throws CancellationException if the batch became unwanted
     * @throws DataLoaderException for whatever the data set or collate throw, errors included: the caller waits for it
     */
    B make(int batch, BooleanSupplier unwanted) {
        int first = batch * batchSize;
        int count = Math.min(batchSize, order.length - first);
        var samples = new ArrayList<S>(count);
        for (int place = 0; place < count; place++) {
            if (unwanted.getAsBoolean()) {
                throw new CancellationException();
            }
            samples.add(read(order[first + place], batch, place));
        }
        return collate(samples, batch);
    }

    private S read(int index, int batch, int place) {
        try {
            return dataset.get(index);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw DataLoaderException.reading(index, batch, place, e);
        } catch (Throwable e) {
            throw DataLoaderException.reading(index, batch, place, e);
        }
    }

    private B collate(List<S> samples, int batch) {
        int count = samples.size();
        try {
            return Objects.requireNonNull(collate.apply(samples), "collate returned null");
        } catch (Throwable e) {
            throw DataLoaderException.collating(batch, count, e);
        }
    }
}
