package io.hvd.transport.mpi;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.collective.Stage;
import io.hvd.kernel.Reducer;
import io.hvd.tensor.DType;
import io.hvd.transport.mpi.Operators.Operator;
import java.nio.ByteBuffer;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Compares the results of MPI's operators on some hundred elements with those of hvd's own reduction: for all pairs of
 * some extreme and some random values, in numbers of elements around the widths of vectors, at the border of a vector
 * and beside it. All NaNs count as equal.
 */
final class OperatorCheck implements Operators.Checker {
    /** Numbers of elements; the last but one has vectors of every width, and a rest of them. */
    private static final int[] COUNTS = {1, 7, 31, 64, 127, 300};

    private static final int MOST = 300;
    /**
     * The number of elements after which a pair of values comes again; it is no power of two, so that each pair comes
     * to every place in a vector.
     */
    private static final int PERIOD = 51;

    private static final double[] EXTREME_FLOATS = {
        -0.0, 0.0, Double.MIN_VALUE, Float.MIN_VALUE, Float.MAX_VALUE, Double.POSITIVE_INFINITY, Double.NaN
    };

    private final Operators.Local mpi;
    private final Reducer own = new Reducer();
    private final Map<DType, ByteBuffer> operands = new EnumMap<>(DType.class);
    private final Map<DType, ByteBuffer> results = new EnumMap<>(DType.class);

    OperatorCheck(Operators.Local mpi) {
        this.mpi = mpi;
    }

    @Override
    public boolean isRight(Operator operator) {
        ByteBuffer expected = expected(operator);
        for (int count : COUNTS) {
            if (!isRight(operator, count, 0, expected) || !isRight(operator, count, 1, expected)) {
                return false;
            }
        }
        return true;
    }

    /** The results for the most elements; those for fewer are the first of them, because hvd reduces each element by itself. */
    private ByteBuffer expected(Operator operator) {
        DType type = operator.type();
        ByteBuffer expected = direct(MOST * type.bytes());
        own.reduce(operator.op(), type, List.of(values(type, true), values(type, false)), 0, MOST, expected);
        return expected;
    }

    /**
     * @param before number of elements between a border and the first one
     * @param expected results for the most elements
     */
    private boolean isRight(Operator operator, int count, int before, ByteBuffer expected) {
        DType type = operator.type();
        ByteBuffer operand = copy(values(type, false), type, count, before);
        ByteBuffer found = copy(values(type, true), type, count, before);
        mpi.reduce(operator, operand, found, count);
        return areSame(type, found, Stage.part(expected, 0, count * type.bytes()));
    }

    private static ByteBuffer copy(ByteBuffer values, DType type, int count, int before) {
        int bytes = count * type.bytes();
        ByteBuffer copy = Stage.part(direct(before * type.bytes() + bytes), before * type.bytes(), bytes);
        return copy.put(0, values, 0, bytes);
    }

    private ByteBuffer values(DType type, boolean second) {
        Map<DType, ByteBuffer> known = second ? results : operands;
        if (!known.containsKey(type)) {
            known.put(type, made(type, second));
        }
        return known.get(type);
    }

    private static ByteBuffer made(DType type, boolean second) {
        ByteBuffer values = direct(MOST * type.bytes());
        long[] extremes = extremes(type);
        SplittableRandom random = new SplittableRandom(second ? 1 : 2);
        for (int i = 0; i < MOST; i++) {
            int pair = i % PERIOD;
            if (pair < extremes.length * extremes.length) {
                put(values, type, i, extremes[second ? pair / extremes.length : pair % extremes.length]);
            } else {
                put(values, type, i, type == DType.BOOL ? random.nextInt(2) : random.nextLong());
            }
        }
        return values;
    }

    private static long[] extremes(DType type) {
        return switch (type) {
            case FLOAT32, FLOAT64 -> {
                long[] bits = new long[EXTREME_FLOATS.length];
                for (int i = 0; i < bits.length; i++) {
                    double value = EXTREME_FLOATS[i];
                    bits[i] = type == DType.FLOAT64
                            ? Double.doubleToRawLongBits(value)
                            : Float.floatToRawIntBits((float) value);
                }
                yield bits;
            }
            case BOOL -> new long[] {0, 1};
            case INT32 -> new long[] {Integer.MIN_VALUE, Integer.MAX_VALUE, -1, 1, 0};
            default -> new long[] {Long.MIN_VALUE, Long.MAX_VALUE, -1, 1, 0};
        };
    }

    private static boolean areSame(DType type, ByteBuffer found, ByteBuffer expected) {
        int different = found.mismatch(expected);
        while (different >= 0) {
            int index = different / type.bytes();
            if (!isNan(type, found, index) || !isNan(type, expected, index)) {
                return false;
            }
            int next = (index + 1) * type.bytes();
            int further = Stage.part(found, next, found.capacity() - next)
                    .mismatch(Stage.part(expected, next, expected.capacity() - next));
            different = further < 0 ? further : next + further;
        }
        return true;
    }

    private static boolean isNan(DType type, ByteBuffer elements, int index) {
        return switch (type) {
            case FLOAT32 -> Float.isNaN(elements.getFloat(index * Float.BYTES));
            case FLOAT64 -> Double.isNaN(elements.getDouble(index * Double.BYTES));
            default -> false;
        };
    }

    private static void put(ByteBuffer elements, DType type, int index, long bits) {
        switch (type.bytes()) {
            case 1 -> elements.put(index, (byte) bits);
            case 4 -> elements.putInt(index * Integer.BYTES, (int) bits);
            default -> elements.putLong(index * Long.BYTES, bits);
        }
    }

    private static ByteBuffer direct(int bytes) {
        return BufferLedger.PROCESS.direct(Owner.MPI, bytes);
    }
}
