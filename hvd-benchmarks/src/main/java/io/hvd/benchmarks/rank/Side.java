package io.hvd.benchmarks.rank;

import java.util.function.IntFunction;

/**
 * One of those that are compared.
 *
 * @param series its name among the timings
 * @param averages whether it divides the sum by the number of ranks
 * @param heap whether it works on the array
 * @param computes whether there is a result to compare with the right one
 * @param call what is timed, for so many floats
 */
record Side(String series, boolean averages, boolean heap, boolean computes, IntFunction<Runnable> call) {
    static Side sum(String series, IntFunction<Runnable> call) {
        return new Side(series, false, false, true, call);
    }

    static Side heapAverage(String series, IntFunction<Runnable> call) {
        return new Side(series, true, true, true, call);
    }

    /** Moves as much data, and computes nothing. */
    static Side transport(String series, IntFunction<Runnable> call) {
        return new Side(series, false, false, false, call);
    }
}
