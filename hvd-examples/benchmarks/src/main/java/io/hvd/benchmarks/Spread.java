package io.hvd.benchmarks;

import java.util.List;

/**
 * What a handful of timings say: placement on few cores is bimodal, so no mean.
 *
 * @param low the timing below which one in twenty lies, between neighbours by proportion
 * @param high the timing above which one in twenty lies
 */
public record Spread(int count, double median, double min, double low, double high) {
    /** @throws IllegalArgumentException if there are none */
    public static Spread of(List<Double> timings) {
        if (timings.isEmpty()) {
            throw new IllegalArgumentException("there is not one timing");
        }
        double[] sorted =
                timings.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        return new Spread(
                sorted.length, quantile(sorted, 0.5), sorted[0], quantile(sorted, 0.05), quantile(sorted, 0.95));
    }

    private static double quantile(double[] sorted, double share) {
        double place = share * (sorted.length - 1);
        int below = (int) place;
        int above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
    }
}
