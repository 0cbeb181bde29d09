package io.hvd.examples.synthetic;

import java.util.Arrays;
import java.util.Locale;

/**
 * Images per second, measured several times.
 *
 * @param range 1.96 standard deviations, within which 95 % of normally distributed values lie, as in Horovod's benchmark
 */
record Rate(double mean, double range) {
    private static final double DEVIATIONS = 1.96;

    static Rate of(double[] values) {
        double mean = Arrays.stream(values).average().orElseThrow();
        double variance = Arrays.stream(values)
                .map(value -> (value - mean) * (value - mean))
                .average()
                .orElseThrow();
        return new Rate(mean, DEVIATIONS * Math.sqrt(variance));
    }

    @Override
    public String toString() {
        return String.format(Locale.ROOT, "%.1f +- %.1f", mean, range);
    }
}
