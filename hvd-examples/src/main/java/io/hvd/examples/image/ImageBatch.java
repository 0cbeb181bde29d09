package io.hvd.examples.image;

import io.hvd.examples.data.ImageSample;
import io.hvd.examples.data.ImageSets;
import java.util.ArrayList;
import java.util.Arrays;
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

    /** In parts of at most so many samples that differ by one at most; a batch that is small enough is its only part. */
    List<ImageBatch> parts(int most) {
        int count = (size() + most - 1) / most;
        if (count == 1) {
            return List.of(this);
        }
        List<ImageBatch> parts = new ArrayList<>();
        int pixelsPerSample = pixels.length / size();
        for (int i = 0; i < count; i++) {
            int from = (int) ((long) size() * i / count);
            int to = (int) ((long) size() * (i + 1) / count);
            parts.add(new ImageBatch(
                    Arrays.copyOfRange(pixels, from * pixelsPerSample, to * pixelsPerSample),
                    Arrays.copyOfRange(labels, from, to)));
        }
        return parts;
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
