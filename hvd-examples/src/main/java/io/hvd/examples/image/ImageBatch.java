package io.hvd.examples.image;

import io.hvd.examples.data.ImageSample;
import io.hvd.examples.data.ImageSets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/** The samples of a batch as Java arrays, so that loader threads need no LibTorch. */
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

    /** Divides the batch into parts of at most {@code most} samples, whose sizes differ by one at most. */
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

    /** The images as a tensor (batch, channels, rows, columns) with the sizes of the given sets. */
    Tensor images(ImageSets sets) {
        return Tensor.create(pixels, size(), sets.channels(), sets.rows(), sets.columns());
    }

    /** The labels as a tensor (batch). */
    Tensor targets() {
        return Tensor.create(labels, size());
    }
}
