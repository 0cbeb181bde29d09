package io.hvd.tensor;

import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntToDoubleFunction;

/** Arrays, tensors and stages for the tests of this package. */
public final class Samples {
    /** Around the borders of the blocks of 2,048 elements that the kernels work in. */
    public static final int[] SIZES = {0, 1, 7, 2047, 2048, 2049, 5001};

    private Samples() {}

    /** Where a tensor's elements lie; the offsets are odd, so that a forgotten one shows. */
    public enum Place {
        HEAP,
        PART_OF_AN_ARRAY,
        DIRECT,
        PART_OF_A_BUFFER,
        SPLIT
    }

    public static Object array(DType type, int count, IntToDoubleFunction value) {
        Object array = Array.newInstance(type.arrayType().getComponentType(), count);
        for (int i = 0; i < count; i++) {
            set(type, array, i, value.applyAsDouble(i));
        }
        return array;
    }

    static void set(DType type, Object array, int i, double value) {
        switch (type) {
            case FLOAT32 -> ((float[]) array)[i] = (float) value;
            case FLOAT64 -> ((double[]) array)[i] = value;
            case INT32 -> ((int[]) array)[i] = (int) value;
            case INT64 -> ((long[]) array)[i] = (long) value;
            case INT8, UINT8 -> ((byte[]) array)[i] = (byte) (int) value;
            case FLOAT16 -> ((short[]) array)[i] = HalfFloat.toFloat16((float) value);
            case BFLOAT16 -> ((short[]) array)[i] = HalfFloat.toBfloat16((float) value);
            case BOOL -> ((byte[]) array)[i] = (byte) (value == 0 ? 0 : 1);
            case INT16, UINT16 -> ((short[]) array)[i] = (short) (int) value;
        }
    }

    /** What is left of a value once it is an element of the type. */
    public static double as(DType type, double value) {
        return get(type, array(type, 1, i -> value), 0);
    }

    public static double get(DType type, Object array, int i) {
        return switch (type) {
            case FLOAT16 -> HalfFloat.fromFloat16(((short[]) array)[i]);
            case BFLOAT16 -> HalfFloat.fromBfloat16(((short[]) array)[i]);
            case UINT8 -> ((byte[]) array)[i] & 0xff;
            case UINT16 -> ((short[]) array)[i] & 0xffff;
            default -> ((Number) Array.get(array, i)).doubleValue();
        };
    }

    /** A tensor that holds a copy of the array. */
    public static Tensor tensor(Place place, DType type, Object values) {
        int count = Array.getLength(values);
        Shape shape = Shape.of(count);
        Tensor tensor =
                switch (place) {
                    case HEAP -> Tensor.zeros(type, shape);
                    case PART_OF_AN_ARRAY -> Tensor.wrap(array(type, count + 8, i -> 77), 3, count, type, shape);
                    case DIRECT -> Tensor.wrap(direct(count * type.bytes()), type, shape);
                    case PART_OF_A_BUFFER -> {
                        ByteBuffer buffer = direct((count + 8) * type.bytes());
                        buffer.position(3 * type.bytes()).limit((3 + count) * type.bytes());
                        yield Tensor.wrap(buffer, type, shape);
                    }
                    case SPLIT -> Tensor.wrap(split((long) count * type.bytes()), type, shape);
                };
        tensor.hostMemory().write(type, 0, values, count);
        return tensor;
    }

    /** Buffers of unequal length, none of them at the border of a kernel's block, and an empty one among them. */
    static List<ByteBuffer> split(long bytes) {
        List<ByteBuffer> parts = new ArrayList<>(List.of(direct(0)));
        int next = 8;
        for (long from = 0; from < bytes; ) {
            int part = (int) Math.min(next, bytes - from);
            parts.add(direct(part));
            from += part;
            next = next % 1000 + 504;
        }
        parts.add(1, direct(0));
        return parts;
    }

    public static ByteBuffer direct(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }

    /** A stage that holds the array's elements from a byte on. */
    public static ByteBuffer stage(DType type, Object values, int at) {
        int count = Array.getLength(values);
        ByteBuffer stage = direct(at + (count + 4) * type.bytes());
        Bulk.put(Bulk.view(stage, type), type, Bulk.index(type, at), values, 0, count);
        return stage;
    }

    public static Object read(ByteBuffer stage, DType type, int at, int count) {
        Object array = Array.newInstance(type.arrayType().getComponentType(), count);
        Bulk.get(Bulk.view(stage, type), type, Bulk.index(type, at), array, 0, count);
        return array;
    }
}
