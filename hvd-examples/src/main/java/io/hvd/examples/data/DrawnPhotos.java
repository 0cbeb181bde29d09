package io.hvd.examples.data;

import io.hvd.data.SplitMix64;

/**
 * Drawn images of different sizes that replace photographs. The class decides the two colours and the direction of
 * stripes, whose width, place and brightness vary, and noise is added. An image depends on the seed and its index alone.
 *
 * @param largest the largest number of rows and of columns; the smallest is half of it
 */
record DrawnPhotos(int size, int classes, int largest, long seed) implements Photos {
    private static final int LEVELS = 255;
    private static final int NOISE = 40;
    private static final double DIRECTIONS = 4;
    /** Hues that follow each other by this share of the circle are far apart, however many there are. */
    private static final double GOLDEN = 0.618034;

    @Override
    public int label(int index) {
        return random(index).nextInt(classes);
    }

    @Override
    public long checksum() {
        return new SplitMix64(seed).nextLong();
    }

    @Override
    public JpegImage read(int index) {
        SplitMix64 random = random(index);
        int label = random.nextInt(classes);
        int columns = largest - random.nextInt(largest / 2 + 1);
        int rows = largest - random.nextInt(largest / 2 + 1);
        double width = largest / (4 + 8 * random.nextDouble());
        double phase = random.nextDouble();
        double angle = Math.PI * (label % DIRECTIONS) / DIRECTIONS;
        double brightness = 0.6 + 0.4 * random.nextDouble();
        int[][] colours = {colour(label * GOLDEN, brightness), colour(label * GOLDEN + 0.3, brightness)};
        int[] values = new int[ColourScale.CHANNELS * rows * columns];
        for (int i = 0; i < rows * columns; i++) {
            double along = (i % columns * Math.cos(angle) + i / columns * Math.sin(angle)) / width + phase;
            int[] colour = colours[(int) Math.floor(along) & 1];
            for (int channel = 0; channel < ColourScale.CHANNELS; channel++) {
                int noise = random.nextInt(2 * NOISE + 1) - NOISE;
                values[ColourScale.CHANNELS * i + channel] = Math.max(0, Math.min(LEVELS, colour[channel] + noise));
            }
        }
        return new JpegImage(values, ColourScale.CHANNELS, rows, columns);
    }

    private SplitMix64 random(int index) {
        return new SplitMix64(new SplitMix64(seed).nextLong() + index);
    }

    /** @param hue of which whole numbers are red, and thirds green and blue */
    private static int[] colour(double hue, double brightness) {
        int[] levels = new int[ColourScale.CHANNELS];
        for (int channel = 0; channel < levels.length; channel++) {
            double wave = 0.5 + 0.5 * Math.cos(2 * Math.PI * (hue - channel / 3.0));
            levels[channel] = (int) Math.round(LEVELS * brightness * wave);
        }
        return levels;
    }
}
