package io.hvd.optimizer.precision;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.GradScaler;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.RangeControl;
import io.hvd.optimizer.RangeStats;
import io.hvd.optimizer.gradients.GradientScan;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;

/**
 * Carries out a {@link RangeControl} on the gradients of one optimizer. The exchange of gradients calls it under its lock: {@link #leaving} before
 * a gradient travels, on the thread of backward, and {@link #arrived} when all have.
 *
 * <p>What is decided here must be the same on all ranks. A rank that has joined misses steps, so all begin anew after a join.
 */
public final class WireRange {
    private static final HvdLogger LOG = HvdLogger.of(WireRange.class);

    /** Below 2^15 the greatest sum leaves three bits to grow by before the next look. */
    private static final int EXPONENT_OF_SUMS = 12;
    /** How much smaller a gradient becomes after an overflow. */
    private static final int STEP_DOWN = 6;
    /** Powers of two beyond this would leave float32's own range. */
    private static final int MOST = 100;
    /** A gradient that has not overflown for so many steps has never overflown. */
    private static final int FORGOTTEN_AFTER = 1000;

    private final ProcessSet set;
    private final List<Parameter> parameters;
    private final RangeControl control;
    private final String scope;
    /** The factor by which the reduction multiplies gradients before it adds them up. */
    private final double prescale;

    private final GradientScan scan = new GradientScan();
    /** The index of each parameter, by its name. */
    private final Map<String, Integer> places = new HashMap<>();

    /** By parameter; of those that are no wider than float16 nothing is touched. */
    private final BitSet watched = new BitSet();
    /** Gradients that travel in their own type: until a magnitude has been seen, and after too many overflows. */
    private final BitSet wide = new BitSet();

    /** Gradients of which a magnitude has been seen, so that they have a factor. */
    private final BitSet known = new BitSet();

    private final BitSet fallen = new BitSet();
    private final BitSet scaled = new BitSet();
    /** Gradients that were not finite on this rank before they travelled. */
    private final BitSet broken = new BitSet();

    private final int[] exponents;
    private final int[] overflows;
    /** By parameter, the step of the last overflow. */
    private final long[] overflown;
    /** Infinite for a gradient that was not finite. */
    private final float[] maxima;

    /** What the last step has asked, in its order. */
    private final List<Question> questions = new ArrayList<>();
    /** Whether other gradients than were prepared travel in their own type. */
    private boolean changed;

    private int joins;
    /** Whether a step has begun and not ended. */
    private boolean underWay;
    /** The number of steps since the optimizer was built or all ranks have joined; the same on all ranks. */
    private long together;
    /** The first of these steps in which the ranks look next. */
    private long nextLook;

    private long steps;
    private long observedElements;
    private long underflows;
    private long allOverflows;
    private long overflowsSaid = -1;
    private double maximum;

    /**
     * @param untouched says whose gradients travel in their own type in any case, or not with the others
     * @param prescale by what the reduction multiplies gradients before it adds them up
     * @throws HvdException if one of the other gradients is not in the host's memory
     */
    public WireRange(
            ProcessSet set,
            List<Parameter> parameters,
            Predicate<Parameter> untouched,
            RangeControl control,
            double prescale,
            String scope) {
        this.set = set;
        this.parameters = parameters;
        this.control = control;
        this.prescale = prescale;
        this.scope = scope;
        this.joins = set.forOptimizers().joins();
        this.exponents = new int[parameters.size()];
        this.overflows = new int[parameters.size()];
        this.overflown = new long[parameters.size()];
        this.maxima = new float[parameters.size()];
        for (int i = 0; i < parameters.size(); i++) {
            Parameter parameter = parameters.get(i);
            places.put(parameter.name(), i);
            if (!untouched.test(parameter)) {
                requireOnHost(parameter);
                watched.set(i, GradientScan.takes(parameter.gradient().dtype()));
            }
        }
        wide.or(watched);
    }

    private static void requireOnHost(Parameter parameter) {
        if (!parameter.gradient().device().isCpu()) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "rangeControl(...) looks at gradients in the host's memory; that of \"" + parameter.name()
                            + "\" is on " + parameter.gradient().device()
                            + ". Leave rangeControl(...) out, or choose Compression.BF16, which has float32's range");
        }
    }

    /** Whether the gradient travels in its own type; to be asked between steps. */
    public boolean isWide(Parameter parameter) {
        return wide.get(places.get(parameter.name()));
    }

    private boolean looks() {
        return together >= nextLook;
    }

    /**
     * A gradient is about to travel, the first of a step or a later one.
     *
     * @return whether other gradients than before travel in their own type
     */
    public boolean begin() {
        if (underWay) {
            return false;
        }
        underWay = true;
        settle();
        if (set.forOptimizers().joins() != joins) {
            joins = set.forOptimizers().joins();
            beginAnew();
            changed = true;
        }
        boolean others = changed;
        changed = false;
        return others;
    }

    /**
     * Waits for what the last step has asked the other ranks, and draws the conclusions. The step itself does not wait, because the
     * ranks may step several optimizers in different orders; the next gradients do.
     */
    public void settle() {
        BitSet before = (BitSet) wide.clone();
        List<Question> open = List.copyOf(questions);
        questions.clear();
        open.forEach(Question::settle);
        changed |= !before.equals(wide);
    }

    /** Numbers on their way to become the greatest of all ranks, and what then follows. */
    private record Question(Handle answer, Runnable conclusion) {
        public void settle() {
            answer.synchronize();
            conclusion.run();
        }
    }

    private void ask(String what, float[] greatest, Runnable conclusion) {
        set.forOptimizers().inAnyOrder(() -> {
            Handle answer =
                    set.allreduceInPlaceAsync(scope + what, Tensor.of(greatest), AllreduceOptions.of(ReduceOp.MAX));
            questions.add(new Question(answer, conclusion));
        });
    }

    private void beginAnew() {
        together = 0;
        nextLook = 0;
        known.clear();
        fallen.clear();
        Arrays.fill(exponents, 0);
        Arrays.fill(overflows, 0);
        wide.or(watched);
    }

    /** A gradient is complete and about to travel. */
    public void leaving(int parameter) {
        boolean narrow = !wide.get(parameter);
        if (!watched.get(parameter) || !(narrow || looks())) {
            return;
        }
        int exponent = narrow ? exponents[parameter] : 0;
        Tensor gradient = parameters.get(parameter).gradient();
        if (looks()) {
            GradientScan.Magnitudes seen = scan.multiplyAndLook(gradient, exponent);
            maxima[parameter] =
                    seen.finite() ? (float) Math.min(Float.MAX_VALUE, seen.maximum()) : Float.POSITIVE_INFINITY;
            broken.set(parameter, !seen.finite());
            if (narrow) {
                observedElements += gradient.elements();
                underflows += seen.vanishing();
            }
        } else {
            broken.set(parameter, !scan.multiplyFinite(gradient, exponent));
        }
        scaled.set(parameter, narrow);
    }

    /** An exchange has failed or is given up; the gradients that it has left alone are what they were. */
    public void undo() {
        underWay = false;
        for (int i = scaled.nextSetBit(0); i >= 0; i = scaled.nextSetBit(i + 1)) {
            scan.multiply(parameters.get(i).gradient(), -exponents[i]);
        }
        scaled.clear();
    }

    /** All gradients are averages, the same on all ranks. */
    public void arrived() {
        underWay = false;
        BitSet suspects = new BitSet();
        for (int i = scaled.nextSetBit(0); i >= 0; i = scaled.nextSetBit(i + 1)) {
            suspects.set(i, !scan.multiply(parameters.get(i).gradient(), -exponents[i]));
        }
        scaled.clear();
        if (!suspects.isEmpty()) {
            blame(suspects);
        }
        if (looks()) {
            long step = together;
            ask("range", maxima, () -> agree(step));
        }
        steps++;
        together++;
    }

    /**
     * The averages that are not finite are so on all ranks, and so all come here together. They ask each other whether a gradient was not
     * finite before it travelled, as a {@link GradScaler} makes some on purpose: float16 has no part in that.
     */
    private void blame(BitSet suspects) {
        float[] anywhere = new float[parameters.size()];
        broken.stream().forEach(parameter -> anywhere[parameter] = 1);
        long step = together;
        ask(
                "range.overflows",
                anywhere,
                () -> suspects.stream()
                        .filter(parameter -> anywhere[parameter] == 0)
                        .forEach(parameter -> overflown(parameter, step)));
    }

    private void overflown(int parameter, long step) {
        allOverflows++;
        exponents[parameter] = Math.max(-MOST, exponents[parameter] - STEP_DOWN);
        if (step - overflown[parameter] > FORGOTTEN_AFTER) {
            overflows[parameter] = 0;
        }
        overflown[parameter] = step;
        if (++overflows[parameter] < control.fallbackAfter()) {
            return;
        }
        fallen.set(parameter);
        wide.set(parameter);
        if (set.rank() == 0) {
            LOG.warn(
                    "the gradient of \"{}\" was infinite or NaN in {} step(s) after it had travelled as float16, and finite"
                            + " on every rank before: from now on it travels as {}, on all ranks",
                    parameters.get(parameter).name(),
                    overflows[parameter],
                    parameters.get(parameter).gradient().dtype());
        }
    }

    /** Every rank has asked in the same step. */
    private void agree(long step) {
        nextLook = step + control.everySteps();
        for (int i = watched.nextSetBit(0); i >= 0; i = watched.nextSetBit(i + 1)) {
            if (maxima[i] == Float.POSITIVE_INFINITY) {
                nextLook = step + 1; // its other elements say nothing about the next step's
            } else if (maxima[i] > 0) {
                maximum = Math.max(maximum, maxima[i]);
                exponents[i] = exponentFor(prescale * maxima[i], set.size());
                known.set(i);
            }
            maxima[i] = 0;
        }
        wide.clear();
        wide.or(watched);
        wide.andNot(known);
        wide.or(fallen);
        if (set.rank() == 0 && allOverflows != overflowsSaid) {
            overflowsSaid = allOverflows;
            LOG.info(
                    "range control of float16 gradients, step {}: the greatest magnitude is {}; {} overflow(s); {} % of the"
                            + " elements of rank {} that were looked at became zero; {} gradient(s) travel in their own type",
                    steps,
                    maximum,
                    allOverflows,
                    String.format(Locale.ROOT, "%.3f", 100 * stats().underflowShare()),
                    set.ranks().get(0),
                    wide.cardinality());
        }
    }

    /** The power of two that brings a sum of so many numbers of that magnitude below 2^13. */
    public static int exponentFor(double magnitude, int ranks) {
        int ofSum = Math.getExponent(magnitude) + Integer.SIZE - Integer.numberOfLeadingZeros(ranks - 1);
        return Math.max(-MOST, Math.min(MOST, EXPONENT_OF_SUMS - ofSum));
    }

    public RangeStats stats() {
        Map<String, Integer> narrow = new TreeMap<>();
        List<String> own = new ArrayList<>();
        for (int i = watched.nextSetBit(0); i >= 0; i = watched.nextSetBit(i + 1)) {
            if (fallen.get(i)) {
                own.add(parameters.get(i).name());
            } else if (!wide.get(i)) {
                narrow.put(parameters.get(i).name(), exponents[i]);
            }
        }
        return new RangeStats(
                steps, observedElements, underflows, allOverflows, maximum, Map.copyOf(narrow), List.copyOf(own));
    }
}
