package io.hvd.examples.data;

import io.hvd.data.SplitMix64;

/**
 * A part of an image, in pixels.
 *
 * @param left may be a fraction, like the other edges
 * @param flipped whether left and right are exchanged
 */
record Crop(double left, double top, double width, double height, boolean flipped) {
    private static final int TRIES = 10;
    private static final double SMALLEST_AREA = 0.08;
    private static final double WIDEST = 4 / 3.0;

    /**
     * A part that has 8 to 100 % of the area and whose sides are as 3 to 4 up to 4 to 3, flipped in half of the cases: torchvision's
     * RandomResizedCrop and RandomHorizontalFlip. If ten such parts do not fit into a narrow image, it is the largest
     * one in the middle that has such sides.
     *
     * <p>C. Szegedy et al., "Going Deeper with Convolutions", CVPR 2015.
     */
    static Crop random(int columns, int rows, SplitMix64 random) {
        double area = (double) columns * rows;
        for (int i = 0; i < TRIES; i++) {
            double target = area * (SMALLEST_AREA + (1 - SMALLEST_AREA) * random.nextDouble());
            double ratio = Math.exp((2 * random.nextDouble() - 1) * Math.log(WIDEST));
            int width = (int) Math.round(Math.sqrt(target * ratio));
            int height = (int) Math.round(Math.sqrt(target / ratio));
            if (width > 0 && width <= columns && height > 0 && height <= rows) {
                return new Crop(
                        random.nextInt(columns - width + 1),
                        random.nextInt(rows - height + 1),
                        width,
                        height,
                        random.nextInt(2) == 1);
            }
        }
        double width = Math.min(columns, rows * WIDEST);
        double height = Math.min(rows, columns * WIDEST);
        return new Crop((columns - width) / 2, (rows - height) / 2, width, height, random.nextInt(2) == 1);
    }

    /** The square in the middle whose side is this share of the shorter side: of 224 out of 256 it is 0.875. */
    static Crop central(int columns, int rows, double share) {
        double side = Math.min(columns, rows) * share;
        return new Crop((columns - side) / 2, (rows - side) / 2, side, side, false);
    }

    /**
     * The part in so many rows and columns, normalised by ImageNet's means and deviations, one channel after the other. A smaller
     * image is the mean over all pixels that each of its own covers, weighted by a triangle; a larger one is interpolated.
     */
    float[] resized(JpegImage image, int side) {
        Weights across = Weights.of(left, width, image.columns(), side);
        Weights down = Weights.of(top, height, image.rows(), side);
        float[] pixels = new float[ColourScale.CHANNELS * side * side];
        float[] narrow = new float[image.rows() * side];
        for (int channel = 0; channel < ColourScale.CHANNELS; channel++) {
            if (channel == 0 || image.bands() > 1) {
                narrow(image, channel, across, down, narrow, side);
            }
            for (int y = 0; y < side; y++) {
                for (int x = 0; x < side; x++) {
                    float value = 0;
                    for (int i = 0; i < down.values[y].length; i++) {
                        value += down.values[y][i] * narrow[(down.first[y] + i) * side + x];
                    }
                    int column = flipped ? side - 1 - x : x;
                    pixels[(channel * side + y) * side + column] = ImageNetScale.of(channel, value);
                }
            }
        }
        return pixels;
    }

    /** Resizes the rows that are needed of one channel. */
    private static void narrow(JpegImage image, int channel, Weights across, Weights down, float[] narrow, int side) {
        int bands = image.bands();
        for (int row = down.begin(); row < down.end(); row++) {
            for (int x = 0; x < side; x++) {
                float value = 0;
                int at = (row * image.columns() + across.first[x]) * bands + channel;
                for (float weight : across.values[x]) {
                    value += weight * image.values()[at];
                    at += bands;
                }
                narrow[row * side + x] = value;
            }
        }
    }

    /** For each place of the result, the first pixel that it depends on, and the weights of this pixel and those behind it. */
    private record Weights(int[] first, float[][] values) {
        static Weights of(double begin, double length, int pixels, int places) {
            double scale = length / places;
            double reach = Math.max(1, scale);
            int[] first = new int[places];
            float[][] values = new float[places][];
            for (int place = 0; place < places; place++) {
                double centre = begin + (place + 0.5) * scale;
                first[place] = Math.max(0, (int) Math.floor(centre - reach + 0.5));
                int behind = Math.min(pixels, (int) Math.floor(centre + reach + 0.5));
                if (behind <= first[place]) { // the centre lies in the last half of the last pixel
                    first[place] = behind - 1;
                }
                values[place] = triangle(first[place], behind, centre, reach);
            }
            return new Weights(first, values);
        }

        private static float[] triangle(int first, int behind, double centre, double reach) {
            float[] weights = new float[behind - first];
            float sum = 0;
            for (int i = 0; i < weights.length; i++) {
                weights[i] = (float) Math.max(0, 1 - Math.abs(first + i + 0.5 - centre) / reach);
                sum += weights[i];
            }
            for (int i = 0; i < weights.length; i++) {
                weights[i] = sum > 0 ? weights[i] / sum : 1f / weights.length;
            }
            return weights;
        }

        int begin() {
            return first[0];
        }

        int end() {
            return first[first.length - 1] + values[values.length - 1].length;
        }
    }
}
