package io.hvd.examples.djl;

import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Sampler;
import io.hvd.data.Dataset;
import io.hvd.examples.data.ImageSample;

/** Digits as a data set of DJL's. */
final class DigitArrays {
    private static final int SIDE = 28;

    private DigitArrays() {}

    /** @param most number of images, if there are as many */
    static ArrayDataset of(Dataset<ImageSample> images, int most, NDManager manager, Sampler sampler) throws Exception {
        int count = Math.min(most, images.size());
        float[] pixels = new float[count * SIDE * SIDE];
        long[] labels = new long[count];
        for (int i = 0; i < count; i++) {
            ImageSample image = images.get(i);
            System.arraycopy(image.pixels(), 0, pixels, i * SIDE * SIDE, SIDE * SIDE);
            labels[i] = image.label();
        }
        return new ArrayDataset.Builder()
                .setData(manager.create(pixels, new Shape(count, 1, SIDE, SIDE)))
                .optLabels(manager.create(labels))
                .setSampling(sampler)
                .build();
    }
}
