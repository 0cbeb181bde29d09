package io.hvd.engine.tuning;

import java.util.Collection;

/** The median of some numbers. */
final class Median {
    private Median() {}

    /** The middle one, or the mean of the two in the middle; there is at least one. */
    static double of(Collection<Double> values) {
        double[] sorted =
                values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }
}
