package io.hvd.contract.program;

import io.hvd.tensor.DType;
import java.lang.reflect.Array;
import java.util.function.IntToLongFunction;

/**
 * Elements of every type as raw bits, and what they mean: written down a second time here, so that nothing of hvd is
 * compared with itself. Integers are kept sign or zero extended.
 */
public final class Elements {
    /** Twice what every number of ranks up to six divides. */
    private static final int DIVISIBLE = 120;

    private static final float[] POWERS = {1, 2, -1, 0.5f, -2, 1, 1, -0.5f};
    private static final double[] SPECIALS = {
        Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, 0.0, -0.0, 1, 2, -3, 0, 5, 0, 1, -1, 0, 4, 2
    };

    private Elements() {}

    /**
     * Bits of an element.
     *
     * @param hash spread over all bits
     */
    static long bits(DType type, Recipe recipe, long hash) {
        if (type == DType.BOOL) {
            return hash & 1;
        }
        int small = Math.floorMod(hash, 17) - 8;
        return switch (recipe) {
            case WILD -> wild(type, hash);
            case SMALL -> of(type, isUnsigned(type) ? Math.abs(small) : type == DType.INT8 ? small / 4 : small);
            case DIVISIBLE -> of(type, DIVISIBLE * (isUnsigned(type) ? Math.abs(small) : small));
            case POWERS -> of(type, POWERS[Math.floorMod(hash, POWERS.length)]);
            case ANY -> of(type, (hash >> 11) * 0x1p-52 * 1000);
            case SPECIAL -> of(type, SPECIALS[Math.floorMod(hash, SPECIALS.length)]);
        };
    }

    /** Extremes come as often as everything else. */
    private static long wild(DType type, long hash) {
        if (type.isFloating()) {
            return cut(type, (hash & 7) == 0 ? of(type, SPECIALS[Math.floorMod(hash >> 3, 16)]) : hash);
        }
        long one = Long.rotateLeft(hash, 13);
        int bits = 8 * type.bytes();
        return switch ((int) (hash & 7)) {
            case 0 -> cut(type, -1L); // all ones: -1, or the largest
            case 1 -> cut(type, 1L << (bits - 1)); // the smallest, or the middle
            case 2 -> cut(type, (1L << (bits - 1)) - 1);
            case 3 -> cut(type, one & 3);
            default -> cut(type, one);
        };
    }

    static boolean isUnsigned(DType type) {
        return type == DType.UINT8 || type == DType.UINT16 || type == DType.BOOL;
    }

    /** Leaves what fits into the type, as its arithmetic wraps around. */
    public static long cut(DType type, long bits) {
        return switch (type) {
            case INT8 -> (byte) bits;
            case UINT8, BOOL -> bits & 0xff;
            case INT16 -> (short) bits;
            case UINT16, FLOAT16, BFLOAT16 -> bits & 0xffff;
            case INT32 -> (int) bits;
            case FLOAT32 -> bits & 0xffffffffL;
            case INT64, FLOAT64 -> bits;
        };
    }

    /** The bits of a number; of 16-bit floats it must be one of theirs. */
    public static long of(DType type, double number) {
        return switch (type) {
            case FLOAT64 -> Double.doubleToRawLongBits(number);
            case FLOAT32 -> Float.floatToRawIntBits((float) number) & 0xffffffffL;
            case BFLOAT16 -> Float.floatToRawIntBits((float) number) >>> 16;
            case FLOAT16 -> float16(number);
            default -> cut(type, (long) number);
        };
    }

    private static long float16(double number) {
        long sign = Double.doubleToRawLongBits(number) < 0 ? 0x8000 : 0;
        double size = Math.abs(number);
        if (size == 0) {
            return sign;
        }
        if (Double.isNaN(number) || Double.isInfinite(number)) {
            return sign | (Double.isNaN(number) ? 0x7e00 : 0x7c00);
        }
        int exponent = Math.getExponent(size);
        long mantissa = (long) (Math.scalb(size, -exponent) * 1024) - 1024;
        return sign | ((long) (exponent + 15) << 10) | mantissa;
    }

    /** The value of floating bits. */
    public static double number(DType type, long bits) {
        return switch (type) {
            case FLOAT64 -> Double.longBitsToDouble(bits);
            case FLOAT32 -> Float.intBitsToFloat((int) bits);
            case BFLOAT16 -> Float.intBitsToFloat((int) bits << 16);
            case FLOAT16 -> ofFloat16((int) bits);
            default -> throw new IllegalArgumentException(type + " is no floating type");
        };
    }

    private static double ofFloat16(int bits) {
        int exponent = (bits >> 10) & 31;
        int mantissa = bits & 1023;
        double size = exponent == 31
                ? (mantissa == 0 ? Double.POSITIVE_INFINITY : Double.NaN)
                : exponent == 0 ? mantissa * 0x1p-24 : Math.scalb(1024.0 + mantissa, exponent - 25);
        return (bits & 0x8000) != 0 ? -size : size;
    }

    /** Half a unit in the last place of 1. */
    public static double precision(DType type) {
        return switch (type) {
            case FLOAT64 -> 0x1p-53;
            case FLOAT32 -> 0x1p-24;
            case FLOAT16 -> 0x1p-11;
            case BFLOAT16 -> 0x1p-8;
            default -> 0;
        };
    }

    public static Object array(DType type, int length) {
        return Array.newInstance(type.arrayType().getComponentType(), length);
    }

    public static void fill(DType type, Object array, int from, int count, IntToLongFunction bits) {
        for (int i = 0; i < count; i++) {
            put(type, array, from + i, bits.applyAsLong(i));
        }
    }

    public static void put(DType type, Object array, int at, long bits) {
        switch (type) {
            case FLOAT64 -> ((double[]) array)[at] = Double.longBitsToDouble(bits);
            case FLOAT32 -> ((float[]) array)[at] = Float.intBitsToFloat((int) bits);
            case INT64 -> ((long[]) array)[at] = bits;
            case INT32 -> ((int[]) array)[at] = (int) bits;
            case INT8, UINT8, BOOL -> ((byte[]) array)[at] = (byte) bits;
            case INT16, UINT16, FLOAT16, BFLOAT16 -> ((short[]) array)[at] = (short) bits;
        }
    }

    public static long get(DType type, Object array, int at) {
        return switch (type) {
            case FLOAT64 -> Double.doubleToRawLongBits(((double[]) array)[at]);
            case FLOAT32 -> Float.floatToRawIntBits(((float[]) array)[at]) & 0xffffffffL;
            case INT64 -> ((long[]) array)[at];
            case INT32 -> ((int[]) array)[at];
            case INT8, UINT8, BOOL -> cut(type, ((byte[]) array)[at]);
            case INT16, UINT16, FLOAT16, BFLOAT16 -> cut(type, ((short[]) array)[at]);
        };
    }

    /** For messages. */
    public static String text(DType type, long bits) {
        return type.isFloating() ? number(type, bits) + " (0x" + Long.toHexString(bits) + ")" : String.valueOf(bits);
    }
}
