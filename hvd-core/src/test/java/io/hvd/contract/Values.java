package io.hvd.contract;

import io.hvd.tensor.DType;
import io.hvd.tensor.HalfFloat;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.lang.reflect.Array;
import java.util.function.IntUnaryOperator;

/** Small whole numbers, exact in every type, that depend on place and rank, and what becomes of them. */
public final class Values {
    /** The places after which the values come again. */
    private static final int PERIOD = 5;

    private Values() {}

    static int value(DType type, int index, int rank) {
        int value = index % PERIOD + rank % 4;
        return type == DType.BOOL ? value / 4 : value;
    }

    static Tensor ramp(DType type, int size, int rank) {
        return repeated(type, Shape.of(size), rank);
    }

    /** Rows of so many elements. */
    static Tensor rows(DType type, int rows, int columns, int rank) {
        return repeated(type, Shape.of(rows, columns), rank);
    }

    private static Tensor repeated(DType type, Shape shape, int rank) {
        int size = Math.toIntExact(shape.elements());
        Object array = Array.newInstance(type.arrayType().getComponentType(), size);
        Object first = tensor(type, Shape.of(PERIOD), i -> value(type, i, rank)).toArray();
        System.arraycopy(first, 0, array, 0, Math.min(PERIOD, size));
        return Tensor.wrap(repeat(array, size), type, shape);
    }

    /** Fills an array with its first {@link #PERIOD} elements; tensors of millions are made in many tests. */
    private static Object repeat(Object array, int size) {
        for (int done = PERIOD; done < size; done *= 2) {
            System.arraycopy(array, 0, array, done, Math.min(done, size - done));
        }
        return array;
    }

    static Tensor tensor(DType type, Shape shape, IntUnaryOperator valueAt) {
        int size = Math.toIntExact(shape.elements());
        Object array = Array.newInstance(type.arrayType().getComponentType(), size);
        for (int i = 0; i < size; i++) {
            int value = valueAt.applyAsInt(i);
            switch (type) {
                case FLOAT32 -> ((float[]) array)[i] = value;
                case FLOAT64 -> ((double[]) array)[i] = value;
                case INT32 -> ((int[]) array)[i] = value;
                case INT64 -> ((long[]) array)[i] = value;
                case INT8, UINT8, BOOL -> ((byte[]) array)[i] = (byte) value;
                case FLOAT16 -> ((short[]) array)[i] = HalfFloat.toFloat16(value);
                case BFLOAT16 -> ((short[]) array)[i] = HalfFloat.toBfloat16(value);
                case INT16, UINT16 -> ((short[]) array)[i] = (short) value;
            }
        }
        return Tensor.wrap(array, type, shape);
    }

    /** The ramps of so many ranks combined. */
    static float[] expected(DType type, int size, int ranks, ReduceOp op) {
        float[] values = new float[size];
        for (int i = 0; i < Math.min(PERIOD, size); i++) {
            int result = value(type, i, 0);
            for (int rank = 1; rank < ranks; rank++) {
                result = combined(type, op, result, value(type, i, rank));
            }
            values[i] = result;
        }
        repeat(values, size);
        return values;
    }

    static int combined(DType type, ReduceOp op, int one, int other) {
        return switch (op.arithmeticOn(type)) {
            case SUM -> one + other;
            case MIN -> Math.min(one, other);
            case MAX -> Math.max(one, other);
            case PRODUCT -> one * other;
            case AVERAGE, ADASUM -> throw new IllegalArgumentException(op + " is no arithmetic");
        };
    }
}
