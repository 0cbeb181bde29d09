package io.hvd.benchmarks.rank;

import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.function.IntToDoubleFunction;

/**
 * The memory that all contenders work on in turn: a direct buffer, an array of the same length and, for collectives
 * whose input and output differ, a direct buffer for the input.
 */
final class Floats {
    private static final int BLOCK = 2048;

    private final ByteBuffer direct;
    private final FloatBuffer view;
    private final float[] array;
    /** The buffer for the input, made when it is needed. */
    private ByteBuffer source;

    Floats(int most) {
        direct = allocate(most);
        view = direct.asFloatBuffer();
        array = new float[most];
    }

    /** Memory for the largest of the sizes, in pieces of the same length for all ranks. */
    static Floats ofSizes(long[] bytes, PlaceInJob job) {
        return new Floats(job.whole(Math.toIntExact(Arrays.stream(bytes).max().orElseThrow() / Float.BYTES)));
    }

    private static ByteBuffer allocate(int floats) {
        return ByteBuffer.allocateDirect(Math.multiplyExact(floats, Float.BYTES))
                .order(ByteOrder.nativeOrder());
    }

    ByteBuffer direct() {
        return direct;
    }

    ByteBuffer source() {
        if (source == null) {
            source = allocate(array.length);
        }
        return source;
    }

    /** A tensor of the buffer's first {@code count} floats. */
    Tensor directTensor(int count) {
        return tensor(direct, count);
    }

    Tensor sourceTensor(int count) {
        return tensor(source(), count);
    }

    private static Tensor tensor(ByteBuffer buffer, int count) {
        ByteBuffer slice = buffer.slice(0, count * Float.BYTES).order(ByteOrder.nativeOrder());
        return Tensor.wrap(slice, DType.FLOAT32, Shape.of(count));
    }

    Tensor heapTensor(int count) {
        return Tensor.wrap(array, 0, count, DType.FLOAT32, Shape.of(count));
    }

    void pack(int count) {
        view.put(0, array, 0, count);
    }

    /**
     * Copies back into the array and multiplies by {@code scale}, block by block, so that a block is scaled in the
     * cache.
     */
    void unpack(int count, float scale) {
        for (int from = 0; from < count; from += BLOCK) {
            int to = Math.min(count, from + BLOCK);
            view.get(from, array, from, to - from);
            for (int i = from; i < to; i++) {
                array[i] *= scale;
            }
        }
    }

    /** Fills all memory with the rank's input. */
    void bring(int count, int rank) {
        for (int i = 0; i < count; i++) {
            array[i] = Expected.brought(rank, i);
        }
        spread(count);
    }

    void clear(int count) {
        Arrays.fill(array, 0, count, 0);
        spread(count);
    }

    private void spread(int count) {
        pack(count);
        if (source != null) {
            source.asFloatBuffer().put(0, array, 0, count);
        }
    }

    /** @throws IllegalStateException if one of the first {@code count} floats is not the expected one */
    void requireDirect(int count, IntToDoubleFunction expected, String whose) {
        for (int i = 0; i < count; i++) {
            require(view.get(i), i, expected.applyAsDouble(i), whose);
        }
    }

    void requireHeap(int count, IntToDoubleFunction expected, String whose) {
        for (int i = 0; i < count; i++) {
            require(array[i], i, expected.applyAsDouble(i), whose);
        }
    }

    private static void require(float found, int place, double value, String whose) {
        boolean right = Math.abs(found - value) <= 1e-4 * Math.abs(value); // never true of NaN
        if (!right) {
            throw new IllegalStateException(
                    whose + " has computed " + found + " at element " + place + ", expected " + value);
        }
    }
}
