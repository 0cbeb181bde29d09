package io.hvd.benchmarks.rank;

import java.util.function.IntFunction;

/**
 * One of those that are compared.
 *
 * @param series its name among the timings
 * @param expected the right result
 * @param heap whether it works on the array
 * @param call what is timed, for so many floats
 */
record Side(String series, Expected expected, boolean heap, IntFunction<Runnable> call) {
    static Side sum(String series, IntFunction<Runnable> call) {
        return direct(series, Expected.SUM, call);
    }

    static Side heapAverage(String series, IntFunction<Runnable> call) {
        return new Side(series, Expected.AVERAGE, true, call);
    }

    /** Moves as much data, and computes nothing. */
    static Side transport(String series, IntFunction<Runnable> call) {
        return direct(series, Expected.NOTHING, call);
    }

    /** Leaves its result in the direct buffer. */
    static Side direct(String series, Expected expected, IntFunction<Runnable> call) {
        return new Side(series, expected, false, call);
    }
}
