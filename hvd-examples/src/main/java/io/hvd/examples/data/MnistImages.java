package io.hvd.examples.data;

import io.hvd.data.Dataset;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Objects;

/** The images of a pair of IDX files, kept as bytes and normalised one by one when they are read. */
final class MnistImages implements Dataset<ImageSample> {

    private static final int CLASSES = 10;
    private static final float[] SCALED = scaled();

    private final Idx images;
    private final Idx labels;

    private MnistImages(Idx images, Idx labels) {
        this.images = images;
        this.labels = labels;
    }

    static MnistImages read(Path imageFile, Path labelFile) throws IOException {
        Idx images = Idx.images(imageFile);
        Idx labels = Idx.labels(labelFile);
        if (images.count() != labels.count()) {
            throw new IOException(labelFile + ": found " + labels.count() + " labels, expected " + images.count()
                    + " as in " + imageFile);
        }
        checkClasses(labels);
        return new MnistImages(images, labels);
    }

    @Override
    public int size() {
        return images.count();
    }

    int rows() {
        return images.sizes()[1];
    }

    int columns() {
        return images.sizes()[2];
    }

    @Override
    public ImageSample get(int index) {
        Objects.checkIndex(index, size());
        float[] pixels = new float[rows() * columns()];
        int first = index * pixels.length;
        for (int i = 0; i < pixels.length; i++) {
            pixels[i] = SCALED[images.values()[first + i] & 0xff];
        }
        return new ImageSample(pixels, labels.values()[index]);
    }

    private static void checkClasses(Idx labels) throws IOException {
        byte[] values = labels.values();
        for (int i = 0; i < values.length; i++) {
            int label = values[i] & 0xff;
            if (label >= CLASSES) {
                throw new IOException(
                        labels.file() + ": found label " + label + " at place " + i + ", expected 0.." + (CLASSES - 1));
            }
        }
    }

    private static float[] scaled() {
        float[] scaled = new float[256];
        for (int value = 0; value < scaled.length; value++) {
            scaled[value] = MnistScale.of(value / 255f);
        }
        return scaled;
    }
}
