package io.hvd.examples.gan;

import io.hvd.data.SplitMix64;
import java.util.Random;
import org.bytedeco.pytorch.Tensor;

/**
 * The generator's input. Each sample has a place among all samples of all ranks, on which its numbers depend, so that several
 * ranks together draw what one rank with the whole batch would draw.
 *
 * @param width numbers of a sample
 */
record Noise(int width, long seed) {
    /**
     * Normally distributed numbers for samples at these places.
     *
     * @return (places, width)
     */
    Tensor at(long... places) {
        float[] values = new float[places.length * width];
        for (int i = 0; i < places.length; i++) {
            Random random = new Random(new SplitMix64(seed + places[i]).nextLong());
            for (int j = 0; j < width; j++) {
                values[i * width + j] = (float) random.nextGaussian();
            }
        }
        return Tensor.create(values, places.length, width);
    }
}
