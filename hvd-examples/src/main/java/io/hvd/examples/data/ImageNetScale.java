package io.hvd.examples.data;

/** The usual normalisation of ImageNet's colours: the mean is subtracted, and the difference divided by the deviation. */
final class ImageNetScale {
    private static final float[] MEAN = {0.485f, 0.456f, 0.406f};
    private static final float[] DEVIATION = {0.229f, 0.224f, 0.225f};
    private static final float WHITE = 255;

    private ImageNetScale() {}

    /** @param channel 0 red, 1 green, 2 blue @param value 0 to 255 */
    static float of(int channel, float value) {
        return (value / WHITE - MEAN[channel]) / DEVIATION[channel];
    }
}
