package io.hvd.tensor;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;

/**
 * Moves runs of elements between a direct buffer and a Java array, as fast as memory allows. The buffer is seen through a
 * {@link #view} of its elements, which is worth keeping.
 */
public final class Bulk {
    private Bulk() {}

    /** All bytes of a buffer as elements of a type, in the buffer's own byte order; whatever its position and limit are. */
    public static Buffer view(ByteBuffer buffer, DType type) {
        // A duplicate does not inherit the byte order.
        ByteBuffer all = buffer.duplicate().clear().order(buffer.order());
        return switch (type) {
            case FLOAT32 -> all.asFloatBuffer();
            case FLOAT64 -> all.asDoubleBuffer();
            case INT32 -> all.asIntBuffer();
            case INT64 -> all.asLongBuffer();
            case INT8, UINT8, BOOL -> all;
            case FLOAT16, BFLOAT16, INT16, UINT16 -> all.asShortBuffer();
        };
    }

    /** @param index the place of the first element in the view */
    public static void get(Buffer view, DType type, int index, Object array, int offset, int count) {
        switch (type) {
            case FLOAT32 -> ((FloatBuffer) view).get(index, (float[]) array, offset, count);
            case FLOAT64 -> ((DoubleBuffer) view).get(index, (double[]) array, offset, count);
            case INT32 -> ((IntBuffer) view).get(index, (int[]) array, offset, count);
            case INT64 -> ((LongBuffer) view).get(index, (long[]) array, offset, count);
            case INT8, UINT8, BOOL -> ((ByteBuffer) view).get(index, (byte[]) array, offset, count);
            case FLOAT16, BFLOAT16, INT16, UINT16 -> ((ShortBuffer) view).get(index, (short[]) array, offset, count);
        }
    }

    /** @param index the place of the first element in the view */
    public static void put(Buffer view, DType type, int index, Object array, int offset, int count) {
        switch (type) {
            case FLOAT32 -> ((FloatBuffer) view).put(index, (float[]) array, offset, count);
            case FLOAT64 -> ((DoubleBuffer) view).put(index, (double[]) array, offset, count);
            case INT32 -> ((IntBuffer) view).put(index, (int[]) array, offset, count);
            case INT64 -> ((LongBuffer) view).put(index, (long[]) array, offset, count);
            case INT8, UINT8, BOOL -> ((ByteBuffer) view).put(index, (byte[]) array, offset, count);
            case FLOAT16, BFLOAT16, INT16, UINT16 -> ((ShortBuffer) view).put(index, (short[]) array, offset, count);
        }
    }

    /**
     * The number of the element that begins at a byte.
     *
     * @throws IllegalArgumentException if none begins there
     */
    public static int index(DType type, int byteIndex) {
        if (byteIndex % type.bytes() != 0) {
            throw new IllegalArgumentException("no " + type + " element begins at byte " + byteIndex);
        }
        return byteIndex / type.bytes();
    }
}
