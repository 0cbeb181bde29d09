package io.hvd.examples.cuda;

import io.hvd.examples.data.ImageSample;
import java.util.List;

/** Samples side by side, as a loader's threads make them; they go to the GPU later. */
record Samples(float[] pixels, int[] labels) {
    static Samples of(List<ImageSample> samples) {
        int size = samples.get(0).pixels().length;
        float[] pixels = new float[samples.size() * size];
        int[] labels = new int[samples.size()];
        for (int i = 0; i < labels.length; i++) {
            System.arraycopy(samples.get(i).pixels(), 0, pixels, i * size, size);
            labels[i] = samples.get(i).label();
        }
        return new Samples(pixels, labels);
    }

    int size() {
        return labels.length;
    }
}
