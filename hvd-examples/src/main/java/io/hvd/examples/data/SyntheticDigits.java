package io.hvd.examples.data;

import io.hvd.data.Dataset;
import io.hvd.data.SplitMix64;
import java.util.Objects;

/**
 * Digits as a seven-segment display shows them, drawn on 28x28 pixels with a place, size, slant, stroke and brightness
 * of their own and noise over them. Stands in for MNIST where its files are not at hand, with the same normalisation.
 *
 * <p>A sample depends on the seed and its index only: every rank, worker and run draws the same one, in any order.
 */
public final class SyntheticDigits implements Dataset<ImageSample> {

    private static final int SIDE = 28;
    private static final int CLASSES = 10;
    private static final float NOISE = 0.35f;

    private final int size;
    private final long base;

    public SyntheticDigits(int size, long seed) {
        if (size < 0) {
            throw new IllegalArgumentException("size must not be negative, found " + size);
        }
        this.size = size;
        base = new SplitMix64(seed).nextLong();
    }

    /** Training and test images that are drawn alike, and have none in common. */
    public static ImageSets sets(int trainSize, int testSize, long seed) {
        var seeds = new SplitMix64(seed);
        var train = new SyntheticDigits(trainSize, seeds.nextLong());
        var test = new SyntheticDigits(testSize, seeds.nextLong());
        return ImageSets.ofDigits(train, test, SIDE, SIDE);
    }

    @Override
    public int size() {
        return size;
    }

    @Override
    public ImageSample get(int index) {
        Objects.checkIndex(index, size);
        var random = new SplitMix64(base + index);
        int label = random.nextInt(CLASSES);
        return new ImageSample(draw(SevenSegments.random(label, random), random), label);
    }

    private static float[] draw(SevenSegments digit, SplitMix64 random) {
        float[] pixels = new float[SIDE * SIDE];
        for (int row = 0; row < SIDE; row++) {
            for (int column = 0; column < SIDE; column++) {
                float noise = NOISE * (float) random.nextDouble();
                float grey = Math.min(1, digit.ink(column, row) + noise);
                pixels[row * SIDE + column] = MnistScale.of(grey);
            }
        }
        return pixels;
    }
}
