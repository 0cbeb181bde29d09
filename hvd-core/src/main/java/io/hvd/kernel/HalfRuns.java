package io.hvd.kernel;

import io.hvd.tensor.DType;
import io.hvd.tensor.HalfFloat;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.function.Supplier;

/**
 * Conversions of whole arrays between float32 and the 16-bit formats, with the bits of {@link HalfFloat}; only which
 * NaN comes out of a NaN may differ.
 *
 * <p>From JDK 20 on {@link Float} has the conversions of float16 itself, and the JIT makes vector instructions of a
 * loop over them, also through a constant method handle. Older ones take a {@link HalfKernel}, if a library offers one, or
 * look floats up in a table.
 */
final class HalfRuns {
    private static final MethodHandle NARROW = ofTheJdk("floatToFloat16", short.class, float.class);
    private static final MethodHandle WIDEN = ofTheJdk("float16ToFloat", float.class, short.class);

    /** For fewer elements the call of a kernel, or the way through other arrays, costs more than it saves. */
    private static final int WORTH_A_KERNEL = 128;

    /** Each thread's memory for conversions by bits. */
    private static final ThreadLocal<HalfBits> BITS = ThreadLocal.withInitial(HalfBits::new);

    /** Null as long as no library offers any. */
    private static volatile ThreadLocal<HalfKernel> kernels;

    private HalfRuns() {}

    static void use(Supplier<HalfKernel> ofEachThread) {
        kernels = ThreadLocal.withInitial(ofEachThread);
    }

    /** Null where Java converts. */
    private static HalfKernel kernel(int count) {
        ThreadLocal<HalfKernel> offered = kernels;
        return offered == null || count < WORTH_A_KERNEL ? null : offered.get();
    }

    /** Null where this JDK has no such method. */
    private static MethodHandle ofTheJdk(String name, Class<?> result, Class<?> argument) {
        try {
            return MethodHandles.publicLookup().findStatic(Float.class, name, MethodType.methodType(result, argument));
        } catch (NoSuchMethodException e) {
            return null;
        } catch (IllegalAccessException e) {
            throw new AssertionError("Float." + name + " is public", e);
        }
    }

    static void toHalf(DType type, float[] from, short[] to, int count) {
        if (type == DType.BFLOAT16) {
            toBfloat16(from, to, count);
        } else if (NARROW != null) {
            toFloat16ByJdk(from, to, count);
        } else {
            toFloat16(from, to, count);
        }
    }

    /** Converts doubles and rounds once, without the loss of a float in between. */
    static void toHalf(DType type, double[] from, short[] to, int count) {
        if (type == DType.FLOAT16) {
            for (int i = 0; i < count; i++) {
                to[i] = HalfFloat.toFloat16(from[i]);
            }
        } else {
            for (int i = 0; i < count; i++) {
                to[i] = HalfFloat.toBfloat16(from[i]);
            }
        }
    }

    static void fromHalf(DType type, short[] from, float[] to, int count) {
        if (type == DType.BFLOAT16) {
            fromBfloat16(from, to, count);
        } else if (WIDEN != null) {
            fromFloat16ByJdk(from, to, count);
        } else {
            fromFloat16(from, to, count);
        }
    }

    /**
     * Replaces floats by the nearest numbers that a 16-bit format has, as the way to halves and back does.
     *
     * @param first index of the first of them
     */
    static void round(DType grid, float[] values, int first, int count) {
        if (grid == DType.FLOAT16 && NARROW != null) {
            roundByJdk(values, first, first + count);
        } else if (count >= WORTH_A_KERNEL) {
            roundManyByJava(grid, values, first, count);
        } else {
            for (int i = first; i < first + count; i++) {
                values[i] = grid == DType.FLOAT16
                        ? HalfFloat.fromFloat16(HalfFloat.toFloat16(values[i]))
                        : HalfFloat.fromBfloat16(HalfFloat.toBfloat16(values[i]));
            }
        }
    }

    /** Whether floats are rounded fastest where their bits lie in an array of ints. */
    static boolean roundsBits(DType grid) {
        return FloatBits.PRESENT && (grid == DType.BFLOAT16 || NARROW == null);
    }

    /**
     * As {@link #round(DType, float[], int, int)} of floats given by their bits, at most 2048; needs {@link FloatBits}, except for
     * bfloat16.
     */
    static void round(DType grid, int[] bits, int count) {
        if (grid == DType.BFLOAT16) {
            HalfBits.roundToBfloat16(bits, count);
        } else {
            BITS.get().roundToFloat16(bits, count);
        }
    }

    private static void roundManyByJava(DType grid, float[] values, int first, int count) {
        HalfKernel kernel = grid == DType.FLOAT16 ? kernel(count) : null;
        if (kernel != null) {
            kernel.round(values, first, count);
        } else {
            BITS.get().round(grid, values, first, count);
        }
    }

    /** Adds numbers of a 16-bit format to others and rounds the sums to it; in one pass where the JDK rounds. */
    static void addAndRound(DType grid, float[] sums, float[] addends, int count) {
        if (grid == DType.FLOAT16 && NARROW != null) {
            addAndRoundByJdk(sums, addends, count);
            return;
        }
        for (int i = 0; i < count; i++) {
            sums[i] += addends[i];
        }
        round(grid, sums, 0, count);
    }

    private static void addAndRoundByJdk(float[] sums, float[] addends, int count) {
        try {
            for (int i = 0; i < count; i++) {
                sums[i] = (float) WIDEN.invokeExact((short) NARROW.invokeExact(sums[i] + addends[i]));
            }
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    private static void roundByJdk(float[] values, int first, int end) {
        try {
            for (int i = first; i < end; i++) {
                values[i] = (float) WIDEN.invokeExact((short) NARROW.invokeExact(values[i]));
            }
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    private static void toFloat16ByJdk(float[] from, short[] to, int count) {
        try {
            for (int i = 0; i < count; i++) {
                to[i] = (short) NARROW.invokeExact(from[i]);
            }
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    private static void fromFloat16ByJdk(short[] from, float[] to, int count) {
        try {
            for (int i = 0; i < count; i++) {
                to[i] = (float) WIDEN.invokeExact(from[i]);
            }
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** Neither conversion throws; an array may be too short. */
    private static RuntimeException unexpected(Throwable cause) {
        return cause instanceof RuntimeException known ? known : new IllegalStateException(cause);
    }

    private static void toFloat16(float[] from, short[] to, int count) {
        HalfKernel kernel = kernel(count);
        if (kernel != null) {
            kernel.narrow(from, to, count);
            return;
        }
        if (count >= WORTH_A_KERNEL) {
            BITS.get().toFloat16(from, to, count);
            return;
        }
        for (int i = 0; i < count; i++) {
            to[i] = HalfFloat.toFloat16(from[i]);
        }
    }

    private static void fromFloat16(short[] from, float[] to, int count) {
        HalfKernel kernel = kernel(count);
        if (kernel != null) {
            kernel.widen(from, to, count);
            return;
        }
        float[] floats = Table.FLOATS;
        for (int i = 0; i < count; i++) {
            to[i] = floats[from[i] & 0xffff];
        }
    }

    private static void toBfloat16(float[] from, short[] to, int count) {
        if (count >= WORTH_A_KERNEL) {
            BITS.get().toBfloat16(from, to, count);
            return;
        }
        for (int i = 0; i < count; i++) {
            to[i] = HalfFloat.toBfloat16(from[i]);
        }
    }

    private static void fromBfloat16(short[] from, float[] to, int count) {
        for (int i = 0; i < count; i++) {
            to[i] = HalfFloat.fromBfloat16(from[i]);
        }
    }

    /** The float of each float16, in 256 KiB, made when it is first needed. */
    private static final class Table {
        static final float[] FLOATS = new float[1 << Short.SIZE];

        static {
            for (int bits = 0; bits < FLOATS.length; bits++) {
                FLOATS[bits] = HalfFloat.fromFloat16((short) bits);
            }
        }
    }
}
