package io.hvd.benchmarks.rank;

import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.Arrays;

/** The memory that all ways of an allreduce work on in turn: a direct buffer, and an array of the same length. */
final class Floats {
    private static final int BLOCK = 2048;

    private final ByteBuffer direct;
    private final FloatBuffer view;
    private final float[] array;

    Floats(int most) {
        direct =
                ByteBuffer.allocateDirect(Math.multiplyExact(most, Float.BYTES)).order(ByteOrder.nativeOrder());
        view = direct.asFloatBuffer();
        array = new float[most];
    }

    ByteBuffer direct() {
        return direct;
    }

    /** The first {@code count} in the buffer. */
    Tensor directTensor(int count) {
        ByteBuffer slice = direct.slice(0, count * Float.BYTES).order(ByteOrder.nativeOrder());
        return Tensor.wrap(slice, DType.FLOAT32, Shape.of(count));
    }

    Tensor heapTensor(int count) {
        return Tensor.wrap(array, 0, count, DType.FLOAT32, Shape.of(count));
    }

    void pack(int count) {
        view.put(0, array, 0, count);
    }

    /** Back into the array, times {@code scale}, block by block, so that each is scaled while it is in the cache. */
    void unpack(int count, float scale) {
        for (int from = 0; from < count; from += BLOCK) {
            int to = Math.min(count, from + BLOCK);
            view.get(from, array, from, to - from);
            for (int i = from; i < to; i++) {
                array[i] *= scale;
            }
        }
    }

    void fill(int count, float value) {
        Arrays.fill(array, 0, count, value);
        pack(count);
    }

    /** @throws IllegalStateException if one of the first {@code count} is something else */
    void requireDirect(int count, float value, String whose) {
        for (int i = 0; i < count; i++) {
            require(view.get(i), i, value, whose);
        }
    }

    void requireHeap(int count, float value, String whose) {
        for (int i = 0; i < count; i++) {
            require(array[i], i, value, whose);
        }
    }

    private static void require(float found, int place, float value, String whose) {
        if (Math.abs(found - value) > 1e-4f * Math.abs(value)) {
            throw new IllegalStateException(
                    whose + " has computed " + found + " at element " + place + ", expected " + value);
        }
    }
}
