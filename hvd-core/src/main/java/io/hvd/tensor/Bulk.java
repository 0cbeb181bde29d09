package io.hvd.tensor;

import java.nio.ByteBuffer;

/** Moves runs of elements between a direct buffer and a Java array, as fast as memory allows. */
final class Bulk {
    private Bulk() {}

    static void get(ByteBuffer buffer, DType type, int byteIndex, Object array, int offset, int count) {
        ByteBuffer run = run(buffer, type, byteIndex, count);
        switch (type) {
            case FLOAT32 -> run.asFloatBuffer().get(0, (float[]) array, offset, count);
            case FLOAT64 -> run.asDoubleBuffer().get(0, (double[]) array, offset, count);
            case INT32 -> run.asIntBuffer().get(0, (int[]) array, offset, count);
            case INT64 -> run.asLongBuffer().get(0, (long[]) array, offset, count);
            case INT8, UINT8, BOOL -> run.get(0, (byte[]) array, offset, count);
            case FLOAT16, BFLOAT16, INT16, UINT16 -> run.asShortBuffer().get(0, (short[]) array, offset, count);
        }
    }

    static void put(ByteBuffer buffer, DType type, int byteIndex, Object array, int offset, int count) {
        ByteBuffer run = run(buffer, type, byteIndex, count);
        switch (type) {
            case FLOAT32 -> run.asFloatBuffer().put(0, (float[]) array, offset, count);
            case FLOAT64 -> run.asDoubleBuffer().put(0, (double[]) array, offset, count);
            case INT32 -> run.asIntBuffer().put(0, (int[]) array, offset, count);
            case INT64 -> run.asLongBuffer().put(0, (long[]) array, offset, count);
            case INT8, UINT8, BOOL -> run.put(0, (byte[]) array, offset, count);
            case FLOAT16, BFLOAT16, INT16, UINT16 -> run.asShortBuffer().put(0, (short[]) array, offset, count);
        }
    }

    /** Views do not inherit the byte order of a slice, so it is set anew. */
    private static ByteBuffer run(ByteBuffer buffer, DType type, int byteIndex, int count) {
        return buffer.slice(byteIndex, Math.multiplyExact(count, type.bytes())).order(buffer.order());
    }
}
