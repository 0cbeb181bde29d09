package io.hvd.examples.image;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** What this rank has done in a whole training, for the line with which it ends. */
final class RunTotals {
    private final List<Double> overlaps = new ArrayList<>();
    private long samples;
    private double trainingSeconds;

    /** @param overlap share of the gradient bytes that were averaged before backward ended */
    void stepped(double overlap) {
        overlaps.add(overlap);
    }

    void saw(int moreSamples) {
        samples += moreSamples;
    }

    void trained(double seconds) {
        trainingSeconds += seconds;
    }

    /** Steps of the optimizer. */
    long steps() {
        return overlaps.size();
    }

    /** Of all ranks, each of which has seen as many. */
    double samplesPerSecond(int ranks) {
        return trainingSeconds > 0 ? samples * ranks / trainingSeconds : 0;
    }

    /** Median over the steps; 0 where there was nobody to average with. */
    double overlap(int ranks) {
        if (overlaps.isEmpty() || ranks == 1) {
            return 0;
        }
        List<Double> sorted = new ArrayList<>(overlaps);
        Collections.sort(sorted);
        return sorted.get(sorted.size() / 2);
    }
}
