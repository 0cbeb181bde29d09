package io.hvd.benchmarks.rank;

import java.util.function.IntFunction;

/**
 * One of the implementations that are compared.
 *
 * @param series the name of its timings
 * @param expected the right result
 * @param heap whether it works on the array
 * @param call makes the call to be timed, for a number of floats
 */
record Contender(String series, Expected expected, boolean heap, IntFunction<Runnable> call) {
    static Contender sum(String series, IntFunction<Runnable> call) {
        return direct(series, Expected.SUM, call);
    }

    static Contender heapAverage(String series, IntFunction<Runnable> call) {
        return new Contender(series, Expected.AVERAGE, true, call);
    }

    /** A contender that moves as much data and computes nothing. */
    static Contender transport(String series, IntFunction<Runnable> call) {
        return direct(series, Expected.NOTHING, call);
    }

    /** A contender that leaves its result in the direct buffer. */
    static Contender direct(String series, Expected expected, IntFunction<Runnable> call) {
        return new Contender(series, expected, false, call);
    }
}
