package io.hvd.examples.gan;

import io.hvd.data.cuda.BatchLayout;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import java.nio.ByteBuffer;
import java.util.List;

/** The tensor of a batch: points (batch, 2). */
record PointLayout() implements BatchLayout<float[]> {
    @Override
    public List<Field> fields() {
        return List.of(new Field("points", DType.FLOAT32, Shape.of(RingOfPoints.COORDINATES)));
    }

    @Override
    public void write(float[] point, List<ByteBuffer> to) {
        to.get(0).asFloatBuffer().put(point);
    }
}
