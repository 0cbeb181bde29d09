package io.hvd.examples.data;

import io.hvd.data.Dataset;
import io.hvd.data.SplitMix64;
import java.util.Objects;

/**
 * Images that are drawn when they are read. A sample depends only on the seed and its index, so every rank, worker
 * and run draws the same one, in any order.
 */
final class DrawnImages implements Dataset<ImageSample> {
    private final int size;
    private final long base;
    private final int classes;
    private final Painter painter;

    DrawnImages(int size, long seed, int classes, Painter painter) {
        if (size < 0) {
            throw new IllegalArgumentException("size must not be negative, found " + size);
        }
        this.size = size;
        this.base = new SplitMix64(seed).nextLong();
        this.classes = classes;
        this.painter = painter;
    }

    /** Draws images; any thread may call it. */
    interface Painter {
        /** The pixels of an image of a class, as in {@link ImageSample}; all random numbers come from the generator. */
        float[] draw(int label, SplitMix64 random);
    }

    @Override
    public int size() {
        return size;
    }

    @Override
    public ImageSample get(int index) {
        Objects.checkIndex(index, size);
        var random = new SplitMix64(base + index);
        int label = random.nextInt(classes);
        return new ImageSample(painter.draw(label, random), label);
    }

    static float between(float low, float high, SplitMix64 random) {
        return low + (high - low) * (float) random.nextDouble();
    }
}
