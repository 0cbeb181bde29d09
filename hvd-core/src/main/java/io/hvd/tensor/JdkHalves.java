package io.hvd.tensor;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * Conversions of float16 by {@link Float}'s own methods, which it has from JDK 20 on. The JIT makes vector instructions of loops
 * over them, also through a constant method handle, where they go from array to array; not of a loop that writes an array that it
 * reads as halves, and only by chance of one that reads or writes a direct buffer.
 */
final class JdkHalves {
    private static final MethodHandle NARROW = ofFloat("floatToFloat16", short.class, float.class);
    private static final MethodHandle WIDEN = ofFloat("float16ToFloat", float.class, short.class);

    /** Whether this JDK has the conversions. It is the same on all ranks of a job, which have the same major version of Java. */
    static final boolean PRESENT = NARROW != null && WIDEN != null;

    private JdkHalves() {}

    /** Null where this JDK has no such method. */
    private static MethodHandle ofFloat(String name, Class<?> result, Class<?> argument) {
        try {
            return MethodHandles.publicLookup().findStatic(Float.class, name, MethodType.methodType(result, argument));
        } catch (NoSuchMethodException e) {
            return null;
        } catch (IllegalAccessException e) {
            throw new AssertionError("Float." + name + " is public", e);
        }
    }

    static void narrow(float[] from, int first, short[] to, int at, int count) {
        try {
            for (int i = 0; i < count; i++) {
                to[at + i] = (short) NARROW.invokeExact(from[first + i]);
            }
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** @param factor by which the numbers are multiplied */
    static void widen(short[] from, int first, float[] to, int at, int count, float factor) {
        try {
            for (int i = 0; i < count; i++) {
                to[at + i] = (float) WIDEN.invokeExact(from[first + i]) * factor;
            }
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** Adds as float32 and rounds once. */
    static void add(short[] left, short[] right, short[] sum, int count) {
        try {
            for (int i = 0; i < count; i++) {
                sum[i] = (short)
                        NARROW.invokeExact((float) WIDEN.invokeExact(left[i]) + (float) WIDEN.invokeExact(right[i]));
            }
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** Neither conversion throws; an array or a buffer may be too short. */
    private static RuntimeException unexpected(Throwable cause) {
        return cause instanceof RuntimeException known ? known : new IllegalStateException(cause);
    }
}
