package io.hvd.benchmarks.rank;

import java.util.function.IntFunction;

/**
 * One of those that are compared.
 *
 * @param series its name among the timings
 * @param averages whether it divides the sum by the number of ranks
 * @param heap whether it works on the array
 * @param call what is timed, for so many floats
 */
record Side(String series, boolean averages, boolean heap, IntFunction<Runnable> call) {
    static Side sum(String series, IntFunction<Runnable> call) {
        return new Side(series, false, false, call);
    }

    static Side heapAverage(String series, IntFunction<Runnable> call) {
        return new Side(series, true, true, call);
    }
}
