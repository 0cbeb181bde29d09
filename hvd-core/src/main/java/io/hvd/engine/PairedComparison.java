package io.hvd.engine;

import java.util.ArrayList;
import java.util.List;

/**
 * Compares two settings by samples in turn: the first and the second, the second and the first, and so on. Samples of a pair follow
 * each other, so that what changes slowly on the machine does not matter, and none of them was used to choose the settings. The median of the pairs'
 * ratios and an interval for it by order statistics assume nothing about how the noise is distributed.
 */
final class PairedComparison {
    static final int PAIRS = 12;
    /**
     * The interval goes from the second smallest to the second largest ratio. Of 12 pairs, it misses the true median in 0.6 % of all
     * cases (13 of 2048).
     */
    static final String CERTAINTY = "99 %";

    private final Tunable start;
    private final Tunable challenger;
    private final List<StepSample> ofStart = new ArrayList<>();
    private final List<StepSample> ofChallenger = new ArrayList<>();

    PairedComparison(Tunable start, Tunable challenger) {
        this.start = start;
        this.challenger = challenger;
    }

    Tunable challenger() {
        return challenger;
    }

    boolean isOver() {
        return taken() == 2 * PAIRS;
    }

    private int taken() {
        return ofStart.size() + ofChallenger.size();
    }

    private boolean isStartsTurn() {
        int inFour = taken() % 4;
        return inFour == 0 || inFour == 3;
    }

    /** The settings of the next sample. */
    Tunable next() {
        return isStartsTurn() ? start : challenger;
    }

    /** The next sample has been taken. */
    void sampled(StepSample sample) {
        (isStartsTurn() ? ofStart : ofChallenger).add(sample);
    }

    /** How many times as fast the challenger is as the start, once all samples have been taken. */
    Ratio ratio() {
        List<Double> ratios = new ArrayList<>();
        for (int i = 0; i < PAIRS; i++) {
            ratios.add(ofChallenger.get(i).bytesPerMicro() / ofStart.get(i).bytesPerMicro());
        }
        ratios.sort(null);
        return new Ratio(Median.of(ratios), ratios.get(1), ratios.get(PAIRS - 2));
    }

    /** The median time of a step with the settings of the start. */
    double startMicros() {
        return micros(ofStart);
    }

    double challengerMicros() {
        return micros(ofChallenger);
    }

    private static double micros(List<StepSample> samples) {
        return Median.of(samples.stream().map(StepSample::stepMicros).toList());
    }

    /** A median ratio and the interval that holds it with {@link #CERTAINTY}. */
    record Ratio(double median, double low, double high) {
        boolean isGain() {
            return low > 1;
        }
    }
}
