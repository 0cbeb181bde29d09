package io.hvd.testing;

import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Locale;

/**
 * Values at which a type overflows, and what a plain loop over the ranks makes of them, element by element. It has no
 * line in common with the code that it is compared with. An element is its bits, in the lower end of a long.
 *
 * <p>Sums and products of floats come to the same in whatever order they are computed: they are exact, or they
 * overflow, vanish or are no number in every order.
 */
public final class PlainLoop {
    private static final int KINDS = 8;
    private static final int HALF_QUIET_NAN = 0x7e00;
    private static final int BFLOAT_QUIET_NAN = 0x7fc0;

    private PlainLoop() {}

    /** What a rank brings. @param direct in a direct buffer, not in an array */
    public static Tensor brought(DType type, ReduceOp op, Shape shape, int rank, boolean direct) {
        int size = Math.toIntExact(shape.elements());
        ByteBuffer bytes = ByteBuffer.allocateDirect(size * type.bytes()).order(ByteOrder.nativeOrder());
        for (int i = 0; i < size; i++) {
            put(bytes, type, i, value(type, op, rank, i));
        }
        Tensor tensor = Tensor.wrap(bytes, type, shape);
        return direct ? tensor : Tensor.wrap(tensor.toArray(), type, shape);
    }

    /** What the first {@code size} elements of all these ranks come to. */
    public static long[] reduced(DType type, ReduceOp op, List<Integer> ranks, int size) {
        return reduced(type, op, ranks, size, ranks.size());
    }

    /** @param divisor of an average */
    public static long[] reduced(DType type, ReduceOp op, List<Integer> ranks, int size, int divisor) {
        long[] results = new long[size];
        for (int i = 0; i < size; i++) {
            results[i] = type.isFloating() ? floating(type, op, ranks, i, divisor) : whole(type, op, ranks, i, divisor);
        }
        return results;
    }

    /** Every NaN counts as the same one. */
    public static void requireEqual(String what, Tensor found, long[] expected) {
        DType type = found.dtype();
        long[] bits = bits(found);
        if (bits.length != expected.length) {
            throw new AssertionError(what + ": " + bits.length + " elements instead of " + expected.length);
        }
        for (int i = 0; i < bits.length; i++) {
            if (bits[i] != expected[i] && !(isNan(type, bits[i]) && isNan(type, expected[i]))) {
                throw new AssertionError(String.format(
                        Locale.ROOT,
                        "%s, element %d of %d: found %s, expected %s",
                        what,
                        i,
                        bits.length,
                        inWords(type, bits[i]),
                        inWords(type, expected[i])));
            }
        }
    }

    /** The elements' bits. */
    public static long[] bits(Tensor tensor) {
        Object array = tensor.toArray();
        long[] bits = new long[Array.getLength(array)];
        for (int i = 0; i < bits.length; i++) {
            bits[i] = switch (tensor.dtype()) {
                case FLOAT32 -> Float.floatToRawIntBits(((float[]) array)[i]) & 0xffffffffL;
                case FLOAT64 -> Double.doubleToRawLongBits(((double[]) array)[i]);
                case INT64 -> ((long[]) array)[i];
                case INT32 -> ((int[]) array)[i] & 0xffffffffL;
                case FLOAT16, BFLOAT16, INT16, UINT16 -> ((short[]) array)[i] & 0xffffL;
                case INT8, UINT8, BOOL -> ((byte[]) array)[i] & 0xffL;
            };
        }
        return bits;
    }

    private static void put(ByteBuffer bytes, DType type, int index, long bits) {
        int at = index * type.bytes();
        switch (type.bytes()) {
            case 1 -> bytes.put(at, (byte) bits);
            case 2 -> bytes.putShort(at, (short) bits);
            case 4 -> bytes.putInt(at, (int) bits);
            default -> bytes.putLong(at, bits);
        }
    }

    private static long mask(DType type) {
        return type.bytes() == 8 ? -1 : (1L << 8 * type.bytes()) - 1;
    }

    private static String inWords(DType type, long bits) {
        return (type.isFloating() ? String.valueOf(real(type, bits)) : String.valueOf(number(type, bits))) + " (0x"
                + Long.toHexString(bits) + ")";
    }

    private static long random(int rank, int index) {
        long mixed = (rank * 1_000_003L + index + 1) * 0x9e3779b97f4a7c15L;
        mixed = (mixed ^ mixed >>> 30) * 0xbf58476d1ce4e5b9L;
        mixed = (mixed ^ mixed >>> 27) * 0x94d049bb133111ebL;
        return mixed ^ mixed >>> 31;
    }

    private static long value(DType type, ReduceOp op, int rank, int index) {
        if (type == DType.BOOL) {
            return random(rank, index) & 1;
        }
        if (!type.isFloating()) {
            return wholeValue(type, rank, index);
        }
        return switch (op) {
            case MIN, MAX -> orderedValue(type, rank, index);
            case PRODUCT -> bits(type, factor(type, rank, index));
            default -> bits(type, summand(type, rank, index));
        };
    }

    private static long wholeValue(DType type, int rank, int index) {
        int width = 8 * type.bytes();
        long value =
                switch (index % KINDS) {
                    case 0 -> 1L << width - 1; // the least of a signed type
                    case 1 -> (1L << width - 1) - 1; // its greatest
                    case 2 -> rank % 2 == 0 ? -1 : 1;
                    case 3 -> -3;
                    case 4 -> 25L << width - 5; // 200 of 8 bits
                    case 5 -> 5L << width - 4; // 80 of 8 bits
                    default -> random(rank, index);
                };
        return value & mask(type);
    }

    private static double summand(DType type, int rank, int index) {
        return switch (index % KINDS) {
            case 0 -> rank == 1 ? Double.NaN : 1;
            case 1 -> -0.0;
            case 2 -> rank == 0 ? Double.POSITIVE_INFINITY : 1;
            case 3 -> rank == 0 ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
            case 4 -> greatest(type);
            case 5 -> least(type) * (1 + (random(rank, index) & 7));
            default -> (random(rank, index) & 31) - 15;
        };
    }

    private static double factor(DType type, int rank, int index) {
        double large = type == DType.FLOAT16 ? 0x1p12 : type == DType.FLOAT64 ? 0x1p1000 : 0x1p100;
        return switch (index % KINDS) {
            case 0 -> rank == 1 ? Double.NaN : 1;
            case 1 -> rank % 2 == 0 ? -0.0 : 2;
            case 2 -> large;
            case 3 -> 1 / large;
            default -> Math.scalb(rank % 2 == 0 ? -1.0 : 1.0, (int) (random(rank, index) & 3) - 1);
        };
    }

    /** Any bits at all, NaNs among them. */
    private static long orderedValue(DType type, int rank, int index) {
        return switch (index % KINDS) {
            case 0 -> rank == 1 ? bits(type, Double.NaN) : bits(type, 1);
            case 1 -> bits(type, rank % 2 == 0 ? 0.0 : -0.0);
            case 2 -> bits(type, rank % 2 == 0 ? Double.NEGATIVE_INFINITY : greatest(type));
            default -> random(rank, index) & mask(type);
        };
    }

    private static double greatest(DType type) {
        return switch (type) {
            case FLOAT16 -> 65504;
            case BFLOAT16 -> 0x1.fep127;
            case FLOAT32 -> Float.MAX_VALUE;
            default -> Double.MAX_VALUE;
        };
    }

    private static double least(DType type) {
        return switch (type) {
            case FLOAT16 -> 0x1p-24;
            case BFLOAT16 -> 0x1p-133;
            case FLOAT32 -> Float.MIN_VALUE;
            default -> Double.MIN_VALUE;
        };
    }

    private static long whole(DType type, ReduceOp op, List<Integer> ranks, int index, int divisor) {
        long result = number(type, value(type, op, ranks.get(0), index));
        for (int rank : ranks.subList(1, ranks.size())) {
            long next = number(type, value(type, op, rank, index));
            result = number(type, wholeOf(type, op, result, next) & mask(type));
        }
        return (op == ReduceOp.AVERAGE ? result / divisor : result) & mask(type);
    }

    private static long wholeOf(DType type, ReduceOp op, long one, long other) {
        boolean truth = type == DType.BOOL;
        return switch (op) {
            case SUM, AVERAGE -> truth ? one | other : one + other;
            case PRODUCT -> truth ? one & other : one * other;
            case MIN -> one < other ? one : other;
            case MAX -> one > other ? one : other;
            case ADASUM -> throw new IllegalArgumentException(op + " is no arithmetic");
        };
    }

    /** The number that the bits of an integer stand for. */
    private static long number(DType type, long bits) {
        return switch (type) {
            case INT8 -> (byte) bits;
            case INT16 -> (short) bits;
            case INT32 -> (int) bits;
            default -> bits;
        };
    }

    private static long floating(DType type, ReduceOp op, List<Integer> ranks, int index, int divisor) {
        double result = real(type, value(type, op, ranks.get(0), index));
        for (int rank : ranks.subList(1, ranks.size())) {
            double next = real(type, value(type, op, rank, index));
            result = type == DType.FLOAT64 ? realOf(op, result, next) : (float) realOf(op, result, next);
        }
        if (op != ReduceOp.AVERAGE) {
            return bits(type, result);
        }
        double sum = real(type, bits(type, result));
        return bits(type, type == DType.FLOAT64 ? sum * (1.0 / divisor) : (float) sum * (float) (1.0 / divisor));
    }

    private static double realOf(ReduceOp op, double one, double other) {
        boolean ordered = op == ReduceOp.MIN || op == ReduceOp.MAX;
        if (ordered && (one != one || other != other)) {
            return Double.NaN;
        }
        if (ordered && one == other) {
            boolean negative = Double.doubleToRawLongBits(one) < 0;
            return negative == (op == ReduceOp.MIN) ? one : other;
        }
        return switch (op) {
            case SUM, AVERAGE -> one + other;
            case PRODUCT -> one * other;
            case MIN -> one < other ? one : other;
            case MAX -> one > other ? one : other;
            case ADASUM -> throw new IllegalArgumentException(op + " is no arithmetic");
        };
    }

    private static boolean isNan(DType type, long bits) {
        return type.isFloating() && Double.isNaN(real(type, bits));
    }

    /** The number that the bits of a float stand for. */
    private static double real(DType type, long bits) {
        return switch (type) {
            case FLOAT64 -> Double.longBitsToDouble(bits);
            case FLOAT32 -> Float.intBitsToFloat((int) bits);
            case BFLOAT16 -> Float.intBitsToFloat((int) bits << 16);
            default -> realOfHalf((int) bits);
        };
    }

    private static double realOfHalf(int bits) {
        int exponent = bits >> 10 & 31;
        int fraction = bits & 1023;
        double size =
                switch (exponent) {
                    case 0 -> Math.scalb((double) fraction, -24);
                    case 31 -> fraction == 0 ? Double.POSITIVE_INFINITY : Double.NaN;
                    default -> Math.scalb(1024.0 + fraction, exponent - 25);
                };
        return (bits & 0x8000) == 0 ? size : -size;
    }

    /** The bits of the nearest number of a type. */
    private static long bits(DType type, double value) {
        return switch (type) {
            case FLOAT64 -> Double.doubleToRawLongBits(value);
            case FLOAT32 -> Float.floatToRawIntBits((float) value) & 0xffffffffL;
            case BFLOAT16 -> value != value ? BFLOAT_QUIET_NAN : rounded(value, 7, 127);
            default -> value != value ? HALF_QUIET_NAN : rounded(value, 10, 15);
        };
    }

    /** To nearest, and to even where two are as near. @param digits of the fraction @param bias of the exponent */
    private static long rounded(double value, int digits, int bias) {
        double size = Math.abs(value);
        long sign = Double.doubleToRawLongBits(value) < 0 ? 0x8000 : 0;
        long infinity = (2L * bias + 1) << digits;
        if (Double.isInfinite(size)) {
            return sign | infinity;
        }
        int exponent = Math.max(Math.getExponent(size), 1 - bias);
        long steps = (long) Math.rint(Math.scalb(size, digits - exponent));
        boolean subnormal = steps < 1L << digits;
        long bits = subnormal ? steps : ((long) (exponent + bias - 1) << digits) + steps;
        return sign | Math.min(bits, infinity);
    }
}
