package io.hvd.examples.cuda;

import io.hvd.data.cuda.DeviceBatch;
import io.hvd.examples.gpu.DeviceArray;
import io.hvd.examples.gpu.UserStream;
import jcuda.Pointer;

/**
 * The samples of a batch in GPU memory, with room for each sample's result. It is used for one batch after the other.
 */
final class MlpBatch implements AutoCloseable {
    private final UserStream stream;
    private final DeviceArray losses;
    private final DeviceArray hits;
    private DeviceArray pixels;
    private DeviceArray labels;
    private int rows;

    /** @param stream the stream on which all work with the batch is queued */
    MlpBatch(UserStream stream, int mostRows) {
        this.stream = stream;
        this.losses = new DeviceArray(4L * mostRows);
        this.hits = new DeviceArray(4L * mostRows);
    }

    /** Uses these samples from now on, in the layout of {@link ImageLayout}. */
    void use(DeviceBatch loaded) {
        rows = loaded.size();
        pixels = DeviceArray.over(loaded.fields().get(0));
        labels = DeviceArray.over(loaded.fields().get(1));
    }

    int rows() {
        return rows;
    }

    DeviceArray pixels() {
        return pixels;
    }

    DeviceArray labels() {
        return labels;
    }

    DeviceArray losses() {
        return losses;
    }

    DeviceArray hits() {
        return hits;
    }

    /** The sums over the rows; waits for the GPU. */
    Outcome outcome() {
        stream.await();
        float[] loss = new float[rows];
        int[] hit = new int[rows];
        losses.read(Pointer.to(loss), 4L * rows);
        hits.read(Pointer.to(hit), 4L * rows);
        double lossSum = 0;
        long right = 0;
        for (int i = 0; i < rows; i++) {
            lossSum += loss[i];
            right += hit[i];
        }
        return new Outcome(lossSum, right);
    }

    /** The result of a whole batch. */
    record Outcome(double lossSum, long right) {}

    @Override
    public void close() {
        losses.close();
        hits.close();
    }
}
