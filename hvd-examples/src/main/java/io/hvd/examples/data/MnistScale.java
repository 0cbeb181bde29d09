package io.hvd.examples.data;

/**
 * MNIST's usual normalisation: the mean of all training pixels is subtracted from a grey value in 0..1, and the
 * difference is divided by their standard deviation.
 */
final class MnistScale {

    static final float MEAN = 0.1307f;
    static final float DEVIATION = 0.3081f;

    private MnistScale() {}

    /** @param grey 0 (background) to 1 (ink) */
    static float of(float grey) {
        return (grey - MEAN) / DEVIATION;
    }
}
