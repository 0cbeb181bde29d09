package io.hvd.examples.cuda;

import io.hvd.data.cuda.BatchLayout;
import io.hvd.examples.data.ImageSample;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import java.nio.ByteBuffer;
import java.util.List;

/** The layout that the kernels need: images as rows of numbers, and their labels. */
record ImageLayout(int pixels) implements BatchLayout<ImageSample> {
    @Override
    public List<Field> fields() {
        return List.of(
                new Field("pixels", DType.FLOAT32, Shape.of(pixels)), new Field("label", DType.INT32, Shape.scalar()));
    }

    @Override
    public void write(ImageSample sample, List<ByteBuffer> to) {
        to.get(0).asFloatBuffer().put(sample.pixels());
        to.get(1).putInt(sample.label());
    }
}
