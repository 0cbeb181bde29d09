package io.hvd.examples.data;

import static io.hvd.examples.data.DrawnImages.between;

import io.hvd.data.SplitMix64;

/**
 * Drawn colour images of 32x32 pixels that replace CIFAR-10 if its files are not available. Each of the ten classes is
 * one of five patterns (horizontal, vertical and diagonal stripes, a disc, a chequerboard) in warm or in cold colours
 * on grey. Place, width, shade and contrast vary, and noise is added.
 */
public final class ColouredPatterns {
    private static final int SIDE = 32;
    private static final int CLASSES = 10;
    private static final int PATTERNS = 5;
    private static final float NOISE = 0.3f;
    private static final float GREY = 0.5f;

    private ColouredPatterns() {}

    static DrawnImages of(int size, long seed) {
        return new DrawnImages(size, seed, CLASSES, ColouredPatterns::draw);
    }

    /** Training and test images, which are drawn in the same way and have no image in common. */
    public static ImageSets sets(int trainSize, int testSize, long seed) {
        var seeds = new SplitMix64(seed);
        var train = of(trainSize, seeds.nextLong());
        var test = of(testSize, seeds.nextLong());
        return new ImageSets(train, test, ColourScale.CHANNELS, SIDE, SIDE, CLASSES, DataOrigin.DRAWN);
    }

    private static float[] draw(int label, SplitMix64 random) {
        float[] colour = colour(label >= PATTERNS, random);
        return draw(label % PATTERNS, colour, random);
    }

    /**
     * The values that the pattern adds to grey, by channel: warm colours have more red and less blue, cold ones the
     * reverse.
     */
    private static float[] colour(boolean warm, SplitMix64 random) {
        float strong = between(0.1f, 0.4f, random);
        float weak = -between(0.05f, 0.3f, random);
        float green = between(-0.2f, 0.2f, random);
        return warm ? new float[] {strong, green, weak} : new float[] {weak, green, strong};
    }

    private static float[] draw(int pattern, float[] colour, SplitMix64 random) {
        float x0 = between(0, SIDE, random);
        float y0 = between(0, SIDE, random);
        float width = between(3, 7, random);
        float[] pixels = new float[ColourScale.CHANNELS * SIDE * SIDE];
        for (int i = 0; i < SIDE * SIDE; i++) {
            float ink = isInked(pattern, i % SIDE - x0, i / SIDE - y0, width) ? 1 : 0;
            for (int channel = 0; channel < ColourScale.CHANNELS; channel++) {
                float noise = NOISE * (float) (random.nextDouble() - 0.5);
                float value = Math.max(0, Math.min(1, GREY + ink * colour[channel] + noise));
                pixels[channel * SIDE * SIDE + i] = ColourScale.of(channel, value);
            }
        }
        return pixels;
    }

    private static boolean isInked(int pattern, float x, float y, float width) {
        return switch (pattern) {
            case 0 -> isOdd(y / width);
            case 1 -> isOdd(x / width);
            case 2 -> isOdd((x + y) / width / 1.4f);
            case 3 -> x * x + y * y < 4 * width * width;
            default -> isOdd(x / width) != isOdd(y / width);
        };
    }

    private static boolean isOdd(float stripe) {
        return ((int) Math.floor(stripe) & 1) == 1;
    }
}
