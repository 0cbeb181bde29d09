package io.hvd.examples.data;

import io.hvd.data.SplitMix64;

/**
 * Digits of a seven-segment display, drawn on 28x28 pixels with random place, size, slant, stroke and brightness, and
 * with noise. They replace MNIST if its files are not available, with the same normalisation.
 */
public final class SyntheticDigits {
    private static final int SIDE = 28;
    private static final int CLASSES = 10;
    private static final float NOISE = 0.35f;

    private SyntheticDigits() {}

    static DrawnImages of(int size, long seed) {
        return new DrawnImages(size, seed, CLASSES, SyntheticDigits::draw);
    }

    /** Training and test images, which are drawn in the same way and have no image in common. */
    public static ImageSets sets(int trainSize, int testSize, long seed) {
        var seeds = new SplitMix64(seed);
        var train = of(trainSize, seeds.nextLong());
        var test = of(testSize, seeds.nextLong());
        return ImageSets.ofDigits(train, test, SIDE, SIDE, DataOrigin.DRAWN);
    }

    private static float[] draw(int label, SplitMix64 random) {
        SevenSegments digit = SevenSegments.random(label, random);
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
