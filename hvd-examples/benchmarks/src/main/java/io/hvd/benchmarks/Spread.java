package io.hvd.benchmarks;

import java.util.List;
import java.util.stream.IntStream;

/**
 * The distribution of a few timings. It has no mean, because the placement on few cores makes timings bimodal.
 *
 * @param low the 5th percentile, interpolated between two timings
 * @param high the 95th percentile, interpolated between two timings
 */
public record Spread(int count, double median, double min, double low, double high) {
    /** @throws IllegalArgumentException if there are no timings */
    public static Spread of(List<Double> timings) {
        if (timings.isEmpty()) {
            throw new IllegalArgumentException("there are no timings");
        }
        double[] sorted =
                timings.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        return new Spread(
                sorted.length, quantile(sorted, 0.5), sorted[0], quantile(sorted, 0.05), quantile(sorted, 0.95));
    }

    /**
     * The distribution of their times divided by ours, pair by pair.
     *
     * @throws IllegalArgumentException if there are no pairs, or one of the two has more timings
     */
    static Spread ofRatios(List<Double> ours, List<Double> theirs) {
        if (ours.size() != theirs.size()) {
            throw new IllegalArgumentException(
                    "there are " + ours.size() + " and " + theirs.size() + " timings, expected pairs");
        }
        return of(IntStream.range(0, ours.size())
                .mapToObj(pair -> theirs.get(pair) / ours.get(pair))
                .toList());
    }

    private static double quantile(double[] sorted, double share) {
        double place = share * (sorted.length - 1);
        int below = (int) place;
        int above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
    }
}
