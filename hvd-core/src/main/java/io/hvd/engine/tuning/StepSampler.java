package io.hvd.engine.tuning;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Cuts the course of a training into samples of some steps each, and measures them. A step lasts from the end of the
 * one before to its own end, and so includes what the program computes. The first steps after any change are left out.
 * It uses no clock of its own.
 */
final class StepSampler {
    /** Steps that are left out when a static plan or a sample under other settings has begun. */
    private static final int SETTLING = 2;

    private final int steps;
    private final long leastNanos;
    private final int settling;
    private final int stepsBeforePlan;

    private final List<Double> rates = new ArrayList<>();
    private final List<Double> micros = new ArrayList<>();
    private final List<Double> sizes = new ArrayList<>();
    /** The names that the current negotiated step has reduced, and their bytes. */
    private final Set<String> names = new HashSet<>();

    private long negotiatedBytes;
    private boolean inPlan;
    private int toSkip;
    private boolean begun;
    private long lastEnd;
    private long nanos;

    /**
     * @param steps the fewest steps of a sample
     * @param leastNanos the least time of a sample
     * @param planSteps the number of identical steps after which a static plan begins; 0 for never
     * @param settles whether the first steps after a change are left out
     */
    StepSampler(int steps, long leastNanos, int planSteps, boolean settles) {
        this.steps = steps;
        this.leastNanos = leastNanos;
        this.settling = settles ? SETTLING : 0;
        this.stepsBeforePlan = settles && planSteps > 0 ? planSteps + SETTLING : settling;
        this.toSkip = stepsBeforePlan;
    }

    /** Other settings hold from now on, or other ranks take part. */
    void settingsChanged() {
        next();
        skip(inPlan ? settling : stepsBeforePlan);
    }

    /** Begins the next sample under the same settings. */
    void next() {
        rates.clear();
        micros.clear();
        sizes.clear();
        nanos = 0;
    }

    /** A static plan begins: what was measured while the ranks negotiated does not count. */
    void planBegan() {
        inPlan = true;
        next();
        skip(settling);
    }

    /** The ranks negotiate again, perhaps for a few steps only. */
    void planEnded() {
        inPlan = false;
        skip(stepsBeforePlan);
    }

    private void skip(int count) {
        toSkip = count;
        begun = false;
        names.clear();
        negotiatedBytes = 0;
    }

    /** Allreduces have been carried out that were negotiated. */
    Optional<StepSample> ran(Collection<String> reduced, long bytes, long now) {
        boolean endsStep = reduced.stream().anyMatch(names::contains);
        Optional<StepSample> sample = endsStep ? stepEnded(negotiatedBytes, now) : Optional.empty();
        if (endsStep) {
            names.clear();
            negotiatedBytes = 0;
        }
        names.addAll(reduced);
        negotiatedBytes += bytes;
        return sample;
    }

    /** A step has ended; returns the sample of which it was the last. */
    Optional<StepSample> stepEnded(long bytes, long now) {
        long took = now - lastEnd;
        boolean whole = begun;
        begun = true;
        lastEnd = now;
        if (!whole) {
            return Optional.empty();
        }
        if (toSkip > 0) {
            toSkip--;
            return Optional.empty();
        }
        add(bytes, Math.max(1, took));
        return rates.size() >= steps && nanos >= leastNanos ? Optional.of(sample()) : Optional.empty();
    }

    private void add(long bytes, long took) {
        if (bytes == 0) {
            return; // it has no score
        }
        rates.add(bytes * 1e3 / took);
        micros.add(took / 1e3);
        sizes.add((double) bytes);
        nanos += took;
    }

    private StepSample sample() {
        StepSample sample = new StepSample(Median.of(rates), Median.of(micros), Median.of(sizes), inPlan);
        next();
        return sample;
    }
}
