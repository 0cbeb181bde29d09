package io.hvd.examples.image;

import io.hvd.data.cuda.BatchLayout;
import io.hvd.examples.data.ImageSample;
import io.hvd.examples.data.ImageSets;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import java.nio.ByteBuffer;
import java.util.List;

/** The tensors of a batch of images for LibTorch: images (batch, channels, rows, columns), and labels (batch). */
record ImageTensors(ImageSets images) implements BatchLayout<ImageSample> {
    static final int IMAGES = 0;
    static final int LABELS = 1;

    @Override
    public List<Field> fields() {
        return List.of(
                new Field("images", DType.FLOAT32, Shape.of(images.channels(), images.rows(), images.columns())),
                new Field("labels", DType.INT64, Shape.scalar()));
    }

    @Override
    public void write(ImageSample sample, List<ByteBuffer> to) {
        to.get(IMAGES).asFloatBuffer().put(sample.pixels());
        to.get(LABELS).putLong(sample.label());
    }
}
