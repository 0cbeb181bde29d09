package io.hvd.kernel;

import java.util.function.Supplier;

/**
 * Converts between float32 and float16 faster than Java before JDK 20 does, with the same bits except those of a NaN.
 * One thread at a time uses it.
 */
public interface HalfKernel {
    /** Writes the first {@code count} numbers as float16, rounded to nearest, ties to even. */
    void narrow(float[] from, short[] to, int count);

    /** Writes the first {@code count} elements of float16 as the numbers that they are. */
    void widen(short[] from, float[] to, int count);

    /** Replaces {@code count} numbers from {@code first} on by the nearest numbers of float16. */
    void round(float[] values, int first, int count);

    /**
     * From now on this process converts float16 by such kernels, unless the JDK does it faster.
     *
     * @param kernels makes one for each thread that converts, on that thread
     */
    static void use(Supplier<HalfKernel> kernels) {
        HalfRuns.use(kernels);
    }
}
