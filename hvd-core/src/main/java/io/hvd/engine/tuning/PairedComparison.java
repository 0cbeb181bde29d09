package io.hvd.engine.tuning;

import io.hvd.engine.message.Tunable;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Compares two settings by pairs of samples, one of each. Samples of a pair follow each other, so that what changes slowly on the machine does not
 * matter, and none of them was used to choose the settings. Which of both comes first is drawn for each pair: a load that comes and goes could
 * keep time with any fixed order. The interval for the median of the pairs' ratios is by order statistics.
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
    private final boolean[] startIsFirst = new boolean[PAIRS];
    private final List<StepSample> ofStart = new ArrayList<>();
    private final List<StepSample> ofChallenger = new ArrayList<>();

    PairedComparison(Tunable start, Tunable challenger, Random order) {
        this.start = start;
        this.challenger = challenger;
        for (int i = 0; i < PAIRS; i++) {
            startIsFirst[i] = order.nextBoolean();
        }
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
        boolean isFirst = taken() % 2 == 0;
        return startIsFirst[taken() / 2] == isFirst;
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
