package io.hvd.examples.text;

import io.hvd.data.cuda.BatchLayout;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import java.nio.ByteBuffer;
import java.util.List;

/** The tensors of a batch: characters, and for each of them the one that follows. @param width characters of a window */
record CharLayout(int width) implements BatchLayout<int[]> {
    @Override
    public List<Field> fields() {
        return List.of(
                new Field("characters", DType.INT64, Shape.of(width)), new Field("next", DType.INT64, Shape.of(width)));
    }

    @Override
    public void write(int[] window, List<ByteBuffer> to) {
        for (int i = 0; i < width; i++) {
            to.get(0).putLong(window[i]);
            to.get(1).putLong(window[i + 1]);
        }
    }
}
