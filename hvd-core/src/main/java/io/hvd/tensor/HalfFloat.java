package io.hvd.tensor;

/**
 * Conversions between float32 and the two 16-bit formats, rounding to nearest, ties to even.
 *
 * <p>float16 is IEEE 754-2019 binary16; bfloat16 is the upper half of a binary32.
 */
public final class HalfFloat {
    private static final int FLOAT_INFINITY = 0x7f800000;
    /** 65536 as float bits: no finite half is nearest to this value or a greater one. */
    private static final int HALF_OVERFLOW = 0x47800000;
    /** 2^-14 as float bits: below it halves are subnormal. */
    private static final int HALF_SMALLEST_NORMAL = 0x38800000;
    /** Between 0.5 and 1 a float counts in steps of 2^-24, exactly the step of subnormal halves. */
    private static final float SUBNORMAL_ROUNDER = 0.5f;

    private static final float HALF_REBIAS = 0x1p112f;

    private HalfFloat() {}

    /** The float16 that is nearest to a float; of two that are equally near, the even one. */
    public static short toFloat16(float value) {
        int bits = Float.floatToRawIntBits(value);
        int sign = (bits >>> 16) & 0x8000;
        int magnitude = bits & 0x7fffffff;
        if (magnitude >= HALF_OVERFLOW) {
            boolean nan = magnitude > FLOAT_INFINITY;
            return (short) (sign | 0x7c00 | (nan ? 0x200 | ((magnitude >>> 13) & 0x3ff) : 0));
        }
        if (magnitude < HALF_SMALLEST_NORMAL) {
            float shifted = Float.intBitsToFloat(magnitude) + SUBNORMAL_ROUNDER;
            return (short) (sign | (Float.floatToRawIntBits(shifted) - Float.floatToRawIntBits(SUBNORMAL_ROUNDER)));
        }
        int even = (magnitude >>> 13) & 1;
        int rounded = magnitude - (112 << 23) + 0xfff + even;
        return (short) (sign | (rounded >>> 13));
    }

    /** The float that a float16 stands for, exactly. */
    public static float fromFloat16(short half) {
        int sign = (half & 0x8000) << 16;
        int magnitude = (half & 0x7fff) << 13;
        if ((half & 0x7c00) == 0x7c00) {
            return Float.intBitsToFloat(sign | FLOAT_INFINITY | magnitude);
        }
        return Float.intBitsToFloat(sign | Float.floatToRawIntBits(Float.intBitsToFloat(magnitude) * HALF_REBIAS));
    }

    /** The bfloat16 that is nearest to a float; of two that are equally near, the even one. */
    public static short toBfloat16(float value) {
        int bits = Float.floatToRawIntBits(value);
        if ((bits & 0x7fffffff) > FLOAT_INFINITY) {
            return (short) ((bits >>> 16) | 0x40);
        }
        return (short) ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16);
    }

    /** The float that a bfloat16 stands for, exactly. */
    public static float fromBfloat16(short brain) {
        return Float.intBitsToFloat(brain << 16);
    }

    /** Converts a double and rounds once, without the loss of a float in between. */
    public static short toFloat16(double value) {
        return toFloat16(toOdd(value));
    }

    /** Converts a double and rounds once, without the loss of a float in between. */
    public static short toBfloat16(double value) {
        return toBfloat16(toOdd(value));
    }

    /**
     * Rounds to odd: cut off towards zero, and where something was cut off, the last bit is set. It keeps
     * the trace of what is missing, so that rounding the float to half's fewer bits gives what rounding
     * the double would have given.
     */
    private static float toOdd(double value) {
        float nearest = (float) value;
        if (nearest == value) {
            return nearest;
        }
        int bits = Float.floatToRawIntBits(nearest);
        int cutOff = Math.abs((double) nearest) > Math.abs(value) ? bits - 1 : bits;
        return Float.intBitsToFloat(cutOff | 1);
    }
}
