package io.hvd.examples.image;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/** What this rank has done in a whole training, for the line with which it ends. */
public final class RunTotals {
    private final List<Double> overlaps = new ArrayList<>();
    private long samples;
    private double trainingSeconds;

    /** @param overlap share of the gradient bytes that were averaged before backward ended */
    public void stepped(double overlap) {
        overlaps.add(overlap);
    }

    public void saw(int moreSamples) {
        samples += moreSamples;
    }

    public void trained(double seconds) {
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

    /** The line with which an example ends. @param loss exact over all ranks, like accuracy */
    public String result(String example, int ranks, int epochs, double loss, double accuracy) {
        return String.format(
                Locale.ROOT,
                "RESULT example=%s ranks=%d epochs=%d steps=%d loss=%.6f accuracy=%.4f samples_per_second=%.1f overlap=%.2f",
                example,
                ranks,
                epochs,
                steps(),
                loss,
                accuracy,
                samplesPerSecond(ranks),
                overlap(ranks));
    }
}
