package io.hvd.engine.tuning;

import io.hvd.config.EngineSettings;
import io.hvd.engine.message.Tunable;
import io.hvd.engine.message.Tunable.Knob;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;

/**
 * The search for better settings: one setting after the other, each from the best of those before ({@link SuccessiveHalving}), and then a
 * comparison of what was found with the start ({@link PairedComparison}). It keeps the start unless the comparison shows a gain. It uses no thread and
 * no clock: the same samples and the same order give the same result.
 */
final class TuningSearch {
    /** Values in milliseconds; Horovod searches up to 100, which no step needs here because a thread that waits is not held back. */
    private static final List<Double> CYCLES = List.of(0.0, 0.5, 2.5, 5.0, 10.0, 25.0);
    /** Powers of two that are tried below the bytes of a step. */
    private static final int THRESHOLDS = 6;

    private static final long SMALLEST_THRESHOLD = 4096;
    /** Sizes of buckets that are tried, each a quarter of the one before. */
    private static final int BUCKETS = 4;

    private final Tunable start;
    private final StepSample seen;
    private final int samplesPerKnob;
    private final int localSize;
    private final Random order;
    private final Deque<Knob> knobs;
    private final boolean tunesThreshold;
    /** The samples of the part of the search that is under way. */
    private final Map<Tunable, List<StepSample>> samples = new HashMap<>();

    private int tried;
    private Tunable best;
    private SuccessiveHalving halving;
    private PairedComparison comparison;
    private long comparisonBegan;
    private long lastEnd;

    /**
     * @param knobs the settings that may be changed
     * @param seen a sample with the settings of the start
     * @param samplesPerKnob the most samples for the search of each setting
     * @param localSize the number of ranks on each host, for which thresholds are rounded up; 1 if it differs
     * @param order draws the order of the comparison's pairs
     */
    TuningSearch(Tunable start, List<Knob> knobs, StepSample seen, int samplesPerKnob, int localSize, Random order) {
        this.localSize = localSize;
        this.order = order;
        this.start = start;
        this.best = start;
        this.seen = seen;
        this.samplesPerKnob = samplesPerKnob;
        this.tunesThreshold = knobs.contains(Knob.FUSION_THRESHOLD);
        this.knobs = new ArrayDeque<>(knobs.stream().filter(this::hasEffect).toList());
        goOn();
    }

    /** Nothing waits for a cycle to end where the ranks do not negotiate. */
    private boolean hasEffect(Knob knob) {
        return knob != Knob.CYCLE_TIME || !seen.inPlan();
    }

    /** The settings for the next sample; empty when the search is over. */
    Optional<Tunable> next() {
        if (halving != null) {
            return Optional.of(halving.next());
        }
        return comparison == null || comparison.isOver() ? Optional.empty() : Optional.of(comparison.next());
    }

    /** What the samples are taken for, for the log. */
    String phase() {
        return halving != null ? "search" : "comparison";
    }

    /** The next sample has been taken. @param nanos when it ended */
    void sampled(StepSample sample, long nanos) {
        lastEnd = nanos;
        samples.computeIfAbsent(next().orElseThrow(), each -> new ArrayList<>()).add(sample);
        if (halving == null) {
            comparison.sampled(sample);
            return;
        }
        halving.scored(sample.bytesPerMicro());
        if (halving.isOver()) {
            best = halving.best();
            halving = null;
            goOn();
        }
    }

    private void goOn() {
        while (halving == null && !knobs.isEmpty()) {
            SuccessiveHalving next = new SuccessiveHalving(candidates(knobs.remove()), samplesPerKnob);
            if (!next.isOver()) {
                tried += next.size() - 1;
                halving = next;
            }
        }
        if (halving == null && !best.equals(start)) {
            comparison = new PairedComparison(start, best, order);
            comparisonBegan = lastEnd;
            samples.clear();
        }
    }

    private List<Tunable> candidates(Knob knob) {
        Stream<Tunable> others =
                switch (knob) {
                    case FUSION_THRESHOLD ->
                        thresholds(Math.round(seen.bytes()), best.fusionThresholdBytes()).stream()
                                .map(bytes -> withThreshold(best, bytes));
                    case BUCKET_BYTES ->
                        buckets(Math.round(seen.bytes())).stream().flatMap(this::withBuckets);
                    case LEVELS -> Stream.of(best.with(knob, 3 - best.levels()));
                    case CYCLE_TIME -> CYCLES.stream().map(millis -> best.with(knob, Math.round(millis * 1e6)));
                };
        return Stream.concat(Stream.of(best), others).distinct().toList();
    }

    private Tunable withThreshold(Tunable settings, long bytes) {
        return settings.with(Knob.FUSION_THRESHOLD, EngineSettings.roundedUp(bytes, localSize));
    }

    /** Small buckets alone are soon complete, and leave sooner only if the batches are not larger. */
    private Stream<Tunable> withBuckets(long bytes) {
        Tunable regrouped = best.with(Knob.BUCKET_BYTES, bytes);
        return tunesThreshold && bytes < best.fusionThresholdBytes()
                ? Stream.of(regrouped, withThreshold(regrouped, bytes))
                : Stream.of(regrouped);
    }

    /** Powers of two, the largest first; a bucket of half a step leaves another one for the rest. */
    static List<Long> buckets(long stepBytes) {
        long half = Long.highestOneBit(Math.max(1, stepBytes - 1));
        return Stream.iterate(half, bytes -> bytes >= SMALLEST_THRESHOLD, bytes -> bytes >> 2)
                .limit(BUCKETS)
                .toList();
    }

    /**
     * Powers of two, the largest first. All that hold a whole step are alike, so one of them is enough, which may be
     * the threshold that holds.
     */
    static List<Long> thresholds(long stepBytes, long now) {
        List<Long> values = new ArrayList<>();
        long whole = Long.highestOneBit(Math.max(1, stepBytes - 1)) << 1;
        if (now < stepBytes) {
            values.add(whole);
        }
        for (long value = whole >> 1; value >= SMALLEST_THRESHOLD && values.size() < THRESHOLDS; value >>= 1) {
            values.add(value);
        }
        return values;
    }

    /** The medians of the samples with these settings that no choice depends on, or of all if there was no comparison. */
    Optional<StepSample> typicalOf(Tunable settings) {
        return Optional.ofNullable(samples.get(settings)).map(TuningSearch::medians);
    }

    private static StepSample medians(List<StepSample> samples) {
        return new StepSample(
                Median.of(samples.stream().map(StepSample::bytesPerMicro).toList()),
                Median.of(samples.stream().map(StepSample::stepMicros).toList()),
                Median.of(samples.stream().map(StepSample::bytes).toList()),
                samples.get(0).inPlan());
    }

    /** The settings to keep, once the search is over. */
    Tunable chosen() {
        return comparison != null && comparison.ratio().isGain() ? best : start;
    }

    /** What has been chosen, what it gains and how sure that is, once the search is over. */
    String result() {
        if (comparison == null) {
            return "keeps " + start + ": "
                    + (tried == 0
                            ? nothingToTry()
                            : "none of the " + tried + " other settings that were tried was faster.")
                    + notTuned();
        }
        PairedComparison.Ratio ratio = comparison.ratio();
        String measured = text(
                "The median step takes %.3f ms, with the settings of the start %.3f ms. In %d comparisons within"
                        + " %.1f s it is %.2f times as fast, with %s certainty %.2f to %.2f times.",
                comparison.challengerMicros() / 1e3,
                comparison.startMicros() / 1e3,
                PairedComparison.PAIRS,
                (lastEnd - comparisonBegan) / 1e9,
                ratio.median(),
                PairedComparison.CERTAINTY,
                ratio.low(),
                ratio.high());
        return ratio.isGain()
                ? "chose " + best.changesFrom(start) + ". " + measured + notTuned()
                : "keeps " + start + ": the best of " + tried + " others, " + best.changesFrom(start)
                        + ", gains nothing that could be told from noise. " + measured + notTuned();
    }

    private String nothingToTry() {
        return text("with %.0f bytes in a step, no other setting was worth a try.", seen.bytes());
    }

    private String notTuned() {
        return seen.inPlan()
                ? " " + Knob.CYCLE_TIME.setting().variable()
                        + " has no effect while the ranks follow a static plan, and was not tuned."
                : "";
    }

    private static String text(String format, Object... values) {
        return String.format(Locale.ROOT, format, values);
    }
}
