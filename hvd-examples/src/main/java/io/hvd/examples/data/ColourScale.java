package io.hvd.examples.data;

/**
 * CIFAR-10's usual normalisation: the mean of all training pixels is subtracted from a channel's value in 0..1, and the
 * difference is divided by their standard deviation.
 */
final class ColourScale {
    static final int CHANNELS = 3;

    private static final float[] MEAN = {0.4915f, 0.4823f, 0.4468f};
    private static final float[] DEVIATION = {0.2470f, 0.2435f, 0.2616f};
    private static final float[][] OF_BYTE = ofBytes();

    private ColourScale() {}

    /**
     * @param channel 0 red, 1 green, 2 blue
     * @param value 0 to 1
     */
    static float of(int channel, float value) {
        return (value - MEAN[channel]) / DEVIATION[channel];
    }

    /** @param value 0 to 255 */
    static float ofByte(int channel, int value) {
        return OF_BYTE[channel][value];
    }

    private static float[][] ofBytes() {
        float[][] scaled = new float[CHANNELS][256];
        for (int channel = 0; channel < CHANNELS; channel++) {
            for (int value = 0; value < 256; value++) {
                scaled[channel][value] = of(channel, value / 255f);
            }
        }
        return scaled;
    }
}
