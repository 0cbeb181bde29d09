package io.hvd.kernel;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.tensor.DType;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;

/**
 * Rounds floats to the numbers of the 16-bit formats by integer arithmetic on their bits and by additions, without a branch, so that
 * the JIT of every JDK makes vector instructions of it. {@link Float#floatToRawIntBits} is none of those; the bits are taken from
 * the floats, and put back, by copies through memory that both an {@link IntBuffer} and a {@link FloatBuffer} show. Not thread-safe.
 *
 * <p>A float is rounded to float16's 11 bits by adding a power of two that is 2^13 times the float's own (no less than
 * that of the least normal half), so that the bits to be lost fall off the end of the sum, to nearest and ties to even.
 */
final class HalfBits {
    /** As many as its callers have in a block, which then begins where the arrays here do. */
    private static final int BLOCK = 2048;

    private static final int SIGN = 0x80000000;
    private static final int MAGNITUDE = 0x7fffffff;
    private static final int EXPONENT = 0x7f800000;
    /** 2^-14, the least normal half. */
    private static final int LEAST_NORMAL = 0x38800000;
    /** 2^16, from which on halves are infinite. */
    private static final int OVERFLOW = 0x47800000;
    /** Multiplies a power of two by 2^13. */
    private static final int BY_2_13 = 13 << 23;
    /** Makes 1.5 of 1, so that a sum with a number of the other sign keeps the exponent. */
    private static final int HALF_MORE = 0x400000;
    /** 2^-14 times 2^13. */
    private static final int LEAST_ADDEND = LEAST_NORMAL + BY_2_13;
    /** Turns 2^16 and more into infinity, and leaves the greatest half finite. */
    static final float TO_INFINITY = 0x1p112f;

    private final FloatBuffer asFloats;
    private final IntBuffer asInts;
    private final int[] bits = new int[BLOCK];
    private final int[] powers = new int[BLOCK];
    private final float[] addends = new float[BLOCK];
    private final float[] sums = new float[BLOCK];

    HalfBits() {
        ByteBuffer memory = BufferLedger.PROCESS.direct(Owner.CONVERSION, BLOCK * Float.BYTES);
        asFloats = memory.asFloatBuffer();
        asInts = memory.asIntBuffer();
    }

    /** Replaces floats by the nearest numbers of a 16-bit format. */
    void round(DType grid, float[] values, int first, int count) {
        for (int done = 0; done < count; done += BLOCK) {
            int run = Math.min(BLOCK, count - done);
            toBits(values, first + done, bits, run);
            if (grid == DType.FLOAT16) {
                signedAddends(bits, run);
                fromBits(powers, addends, 0, run);
                addAndSubtract(values, first + done, run);
            } else {
                roundToBfloat16(bits, run);
                fromBits(bits, values, first + done, run);
            }
        }
    }

    void toBfloat16(float[] from, short[] to, int count) {
        for (int done = 0; done < count; done += BLOCK) {
            int run = Math.min(BLOCK, count - done);
            toBits(from, done, bits, run);
            roundToBfloat16(bits, run);
            for (int i = 0; i < run; i++) {
                bits[i] >>>= Short.SIZE;
            }
            cutOff(to, done, run);
        }
    }

    void toFloat16(float[] from, short[] to, int count) {
        for (int done = 0; done < count; done += BLOCK) {
            int run = Math.min(BLOCK, count - done);
            toBits(from, done, bits, run);
            magnitudesAndAddends(run);
            add(run);
            halvesOfSums(run);
            cutOff(to, done, run);
        }
    }

    /** Replaces at most a block of floats, given by their bits, by the nearest numbers of float16; needs {@link FloatBits}. */
    void roundToFloat16(int[] floats, int count) {
        signedAddends(floats, count);
        FloatBits.addAndSubtract(floats, powers, count);
    }

    private void toBits(float[] from, int first, int[] to, int count) {
        asFloats.put(0, from, first, count);
        asInts.get(0, to, 0, count);
    }

    private void fromBits(int[] from, float[] to, int first, int count) {
        asInts.put(0, from, 0, count);
        asFloats.get(0, to, first, count);
    }

    /** A loop of its own: the JIT makes no vector instructions of a loop over ints and shorts. */
    private void cutOff(short[] to, int first, int count) {
        for (int i = 0; i < count; i++) {
            to[first + i] = (short) bits[i];
        }
    }

    /** Replaces floats, given by their bits, by the nearest numbers of bfloat16. */
    static void roundToBfloat16(int[] bits, int count) {
        for (int i = 0; i < count; i++) {
            int x = bits[i];
            int nan = (EXPONENT - (x & MAGNITUDE)) >> 31;
            int rounded = x + 0x7fff + ((x >>> 16) & 1);
            bits[i] = ((rounded & ~nan) | ((x | HALF_MORE) & nan)) & 0xffff0000;
        }
    }

    /** For each float 1.5 times 2^13 times its power of two, with its sign; infinities and NaNs count as 2^16. */
    private void signedAddends(int[] floats, int count) {
        for (int i = 0; i < count; i++) {
            int x = floats[i];
            powers[i] = (bounded(x & EXPONENT) + (BY_2_13 | HALF_MORE)) | (x & SIGN);
        }
    }

    private static int bounded(int power) {
        int above = power - LEAST_NORMAL;
        int atLeast = LEAST_NORMAL + (above & ~(above >> 31));
        int below = atLeast - OVERFLOW;
        return OVERFLOW + (below & (below >> 31));
    }

    /** Both arrays must be read from the same index on, or the JIT would make no vector instructions. */
    private void addAndSubtract(float[] values, int first, int count) {
        if (first == 0) {
            addAndSubtract(values, count);
            return;
        }
        System.arraycopy(values, first, sums, 0, count);
        addAndSubtract(sums, count);
        System.arraycopy(sums, 0, values, first, count);
    }

    /** The product with 0 gives a zero the sign that it had: the difference before it is -0, to which +0 or -0 is added. */
    private void addAndSubtract(float[] values, int count) {
        for (int i = 0; i < count; i++) {
            float addend = addends[i];
            float rounded = -(addend - (values[i] + addend));
            values[i] = rounded * TO_INFINITY * (1 / TO_INFINITY) + addend * 0f;
        }
    }

    /** Magnitudes, bounded by 2^16, in {@link #sums}; addends of them in {@link #addends}, as bits in {@link #powers}. */
    private void magnitudesAndAddends(int count) {
        for (int i = 0; i < count; i++) {
            int below = (bits[i] & MAGNITUDE) - OVERFLOW;
            powers[i] = OVERFLOW + (below & (below >> 31));
        }
        fromBits(powers, sums, 0, count);
        for (int i = 0; i < count; i++) {
            int above = (powers[i] & EXPONENT) - LEAST_NORMAL;
            powers[i] = LEAST_ADDEND + (above & ~(above >> 31));
        }
        fromBits(powers, addends, 0, count);
    }

    private void add(int count) {
        for (int i = 0; i < count; i++) {
            sums[i] += addends[i];
        }
    }

    /** The last 12 bits of a sum count in steps of the half, whose exponent is the addend's. */
    private void halvesOfSums(int count) {
        for (int i = 0; i < count; i++) {
            powers[i] = (powers[i] - LEAST_ADDEND) >>> 13;
        }
        for (int i = 0; i < count; i++) {
            int nan = (EXPONENT - (bits[i] & MAGNITUDE)) >> 31;
            int payload = 0x200 | ((bits[i] >>> 13) & 0x3ff);
            powers[i] += ((bits[i] >>> 16) & 0x8000) | (nan & payload);
        }
        toBits(sums, 0, bits, count);
        for (int i = 0; i < count; i++) {
            bits[i] = powers[i] + (bits[i] & 0xfff);
        }
    }
}
