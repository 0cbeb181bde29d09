package io.hvd.examples.image;

import io.hvd.examples.data.ImageSample;
import io.hvd.examples.data.ImageSets;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/** Samples side by side, still as Java arrays, so that loader threads need not touch LibTorch. */
record ImageBatch(float[] pixels, long[] labels) {
    static ImageBatch of(List<ImageSample> samples) {
        int size = samples.get(0).pixels().length;
        float[] pixels = new float[samples.size() * size];
        long[] labels = new long[samples.size()];
        for (int i = 0; i < labels.length; i++) {
            System.arraycopy(samples.get(i).pixels(), 0, pixels, i * size, size);
            labels[i] = samples.get(i).label();
        }
        return new ImageBatch(pixels, labels);
    }

    int size() {
        return labels.length;
    }

    /** (batch, channels, rows, columns), as the sets that the samples are from say. */
    Tensor images(ImageSets sets) {
        return Tensor.create(pixels, size(), sets.channels(), sets.rows(), sets.columns());
    }

    /** (batch). */
    Tensor targets() {
        return Tensor.create(labels, size());
    }
}
