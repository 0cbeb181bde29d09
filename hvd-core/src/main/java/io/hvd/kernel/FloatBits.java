package io.hvd.kernel;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.util.Objects;

/**
 * Arithmetic on floats whose bits lie in an {@code int[]}. The JIT makes vector instructions of a loop that reads floats from an
 * array of ints by {@code sun.misc.Unsafe}, and none of one over {@link Float#intBitsToFloat}. From JDK 24 on Unsafe
 * warns whoever uses it.
 */
final class FloatBits {
    private static final int WARNS_FROM = 24;
    private static final MethodHandle GET;
    private static final MethodHandle PUT;
    private static final long BASE;

    /** Whether there is this arithmetic. A program on the module path has it if it resolves the module {@code jdk.unsupported}. */
    static final boolean PRESENT;

    static {
        MethodHandle get = null;
        MethodHandle put = null;
        long base = 0;
        try {
            if (Runtime.version().feature() < WARNS_FROM) {
                Class<?> type = Class.forName("sun.misc.Unsafe");
                Field only = type.getDeclaredField("theUnsafe");
                only.setAccessible(true);
                Object unsafe = only.get(null);
                MethodHandles.Lookup all = MethodHandles.publicLookup();
                get = all.findVirtual(type, "getFloat", MethodType.methodType(float.class, Object.class, long.class))
                        .bindTo(unsafe);
                put = all.findVirtual(
                                type,
                                "putFloat",
                                MethodType.methodType(void.class, Object.class, long.class, float.class))
                        .bindTo(unsafe);
                base = type.getField("ARRAY_INT_BASE_OFFSET").getInt(null);
            }
        } catch (ReflectiveOperationException | RuntimeException e) {
            get = null;
        }
        GET = get;
        PUT = put;
        BASE = base;
        PRESENT = get != null;
    }

    private FloatBits() {}

    /** Adds floats to others. */
    static void add(int[] sums, int[] addends, int count) {
        check(sums, count);
        check(addends, count);
        try {
            for (int i = 0; i < count; i++) {
                long at = BASE + 4L * i;
                PUT.invokeExact(
                        (Object) sums,
                        at,
                        (float) GET.invokeExact((Object) sums, at) + (float) GET.invokeExact((Object) addends, at));
            }
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** As {@link HalfBits#addAndSubtract} of arrays of floats. */
    static void addAndSubtract(int[] values, int[] addends, int count) {
        check(values, count);
        check(addends, count);
        try {
            for (int i = 0; i < count; i++) {
                long at = BASE + 4L * i;
                float addend = (float) GET.invokeExact((Object) addends, at);
                float rounded = -(addend - ((float) GET.invokeExact((Object) values, at) + addend));
                PUT.invokeExact(
                        (Object) values, at, rounded * HalfBits.TO_INFINITY * (1 / HalfBits.TO_INFINITY) + addend * 0f);
            }
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    static void fromFloats(float[] from, int first, int[] bits, int count) {
        check(bits, count);
        try {
            for (int i = 0; i < count; i++) {
                PUT.invokeExact((Object) bits, BASE + 4L * i, from[first + i]);
            }
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** @param factor by which the floats are multiplied */
    static void toFloats(int[] bits, float[] to, int first, int count, float factor) {
        check(bits, count);
        try {
            for (int i = 0; i < count; i++) {
                to[first + i] = (float) GET.invokeExact((Object) bits, BASE + 4L * i) * factor;
            }
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** Unsafe does not look how long an array is. */
    private static void check(int[] bits, int count) {
        Objects.checkFromIndexSize(0, count, bits.length);
    }

    private static RuntimeException unexpected(Throwable cause) {
        return cause instanceof RuntimeException known ? known : new IllegalStateException(cause);
    }
}
