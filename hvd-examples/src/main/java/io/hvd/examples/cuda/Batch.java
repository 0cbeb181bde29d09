package io.hvd.examples.cuda;

import io.hvd.examples.gpu.DeviceArray;
import io.hvd.examples.gpu.UserStream;
import jcuda.Pointer;

/** Samples in GPU memory, with a place for what comes of each; one batch after the other uses it. */
final class Batch implements AutoCloseable {
    private final UserStream stream;
    private final PinnedBuffer pinnedPixels;
    private final PinnedBuffer pinnedLabels;
    private final DeviceArray pixels;
    private final DeviceArray labels;
    private final DeviceArray losses;
    private final DeviceArray hits;
    private int rows;

    /** @param stream on which everything that uses it is queued */
    Batch(UserStream stream, int mostRows, int pixelsPerRow) {
        this.stream = stream;
        this.pixels = new DeviceArray(4L * mostRows * pixelsPerRow);
        this.labels = new DeviceArray(4L * mostRows);
        this.losses = new DeviceArray(4L * mostRows);
        this.hits = new DeviceArray(4L * mostRows);
        this.pinnedPixels = new PinnedBuffer(pixels.bytes());
        this.pinnedLabels = new PinnedBuffer(labels.bytes());
    }

    /** Queues the copy of samples to the GPU. */
    void send(Samples samples) {
        rows = samples.size();
        pinnedPixels.free().asFloatBuffer().put(samples.pixels());
        pinnedPixels.send(pixels, 4L * samples.pixels().length, stream);
        pinnedLabels.free().asIntBuffer().put(samples.labels());
        pinnedLabels.send(labels, 4L * rows, stream);
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

    /** Sums over the rows, once the GPU has come so far. */
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

    /** Of a whole batch. */
    record Outcome(double lossSum, long right) {}

    @Override
    public void close() {
        pinnedPixels.close();
        pinnedLabels.close();
        pixels.close();
        labels.close();
        losses.close();
        hits.close();
    }
}
