package io.hvd.examples.data;

import io.hvd.data.Dataset;
import java.io.IOException;

/** The middle of images in one size, for an evaluation: the shorter side is resized to 256 for a middle of 224. */
record CentralCrops(Photos photos, int side) implements Dataset<ImageSample> {
    private static final double SHARE = 224 / 256.0;

    @Override
    public int size() {
        return photos.size();
    }

    @Override
    public ImageSample get(int index) throws IOException {
        JpegImage image = photos.read(index);
        Crop middle = Crop.central(image.columns(), image.rows(), SHARE);
        return new ImageSample(middle.resized(image, side), photos.label(index));
    }
}
