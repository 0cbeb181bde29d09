package io.hvd.optimizer;

import io.hvd.AllreduceOptions;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries out a {@link RangeControl} on the gradients of one optimizer. {@link GradientExchange} calls it under its lock: {@link #leaving} before
 * a gradient travels, on the thread of backward, and {@link #arrived} when all have.
 */
final class WireRange {
    private static final Logger LOG = LoggerFactory.getLogger(WireRange.class);

    /** Below 2^15 the greatest sum leaves three bits to grow by before the next look. */
    private static final int EXPONENT_OF_SUMS = 12;
    /** How much smaller a gradient becomes after an overflow. */
    private static final int STEP_DOWN = 6;
    /** Powers of two beyond this would leave float32's own range. */
    private static final int MOST = 100;

    private final ProcessSet set;
    private final List<Parameter> parameters;
    private final RangeControl control;
    private final String scope;
    private final GradientScan scan = new GradientScan();
    /** The index of each parameter, by its name. */
    private final Map<String, Integer> places = new HashMap<>();

    /** By parameter; of those that are no wider than float16 nothing is touched. */
    private final BitSet watched = new BitSet();
    /** Those that travel in their own type: in the first step all, then those that have overflown too often. */
    private final BitSet wide = new BitSet();

    private final BitSet fallen = new BitSet();
    private final BitSet scaled = new BitSet();
    private final int[] exponents;
    private final int[] overflows;
    private final float[] maxima;

    private long steps;
    private long observedElements;
    private long underflows;
    private long allOverflows;
    private long overflowsSaid = -1;
    private double maximum;

    /**
     * @param alwaysFp32 says whose gradients travel in their own type in any case
     * @throws HvdException if a gradient is not in the host's memory
     */
    WireRange(
            ProcessSet set,
            List<Parameter> parameters,
            Predicate<Parameter> alwaysFp32,
            RangeControl control,
            String scope) {
        this.set = set;
        this.parameters = parameters;
        this.control = control;
        this.scope = scope;
        this.exponents = new int[parameters.size()];
        this.overflows = new int[parameters.size()];
        this.maxima = new float[parameters.size()];
        for (int i = 0; i < parameters.size(); i++) {
            requireOnHost(parameters.get(i));
            Parameter parameter = parameters.get(i);
            places.put(parameter.name(), i);
            watched.set(i, GradientScan.takes(parameter.gradient().dtype()) && !alwaysFp32.test(parameter));
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
    boolean isWide(Parameter parameter) {
        return wide.get(places.get(parameter.name()));
    }

    private boolean looks() {
        return steps % control.everySteps() == 0;
    }

    /** A gradient is complete and about to travel. */
    void leaving(int parameter) {
        boolean narrow = !wide.get(parameter);
        if (!watched.get(parameter) || !(narrow || looks())) {
            return;
        }
        int exponent = narrow ? exponents[parameter] : 0;
        Tensor gradient = parameters.get(parameter).gradient();
        if (looks()) {
            GradientScan.Seen seen = scan.multiplyAndLook(gradient, exponent);
            maxima[parameter] = (float) seen.maximum();
            if (narrow) {
                observedElements += gradient.elements();
                underflows += seen.vanishing();
            }
        } else if (exponent != 0) {
            scan.multiply(gradient, exponent);
        }
        scaled.set(parameter, narrow);
    }

    /** An exchange has failed; the gradients that it has left alone are what they were. */
    void undo() {
        for (int i = scaled.nextSetBit(0); i >= 0; i = scaled.nextSetBit(i + 1)) {
            scan.multiply(parameters.get(i).gradient(), -exponents[i]);
        }
        scaled.clear();
    }

    /**
     * All gradients are averages, the same on all ranks.
     *
     * @return whether other gradients than before travel in their own type
     */
    boolean arrived() {
        BitSet before = (BitSet) wide.clone();
        for (int i = scaled.nextSetBit(0); i >= 0; i = scaled.nextSetBit(i + 1)) {
            if (!scan.multiply(parameters.get(i).gradient(), -exponents[i])) {
                overflown(i);
            }
        }
        scaled.clear();
        if (looks()) {
            agree();
        }
        steps++;
        return !before.equals(wide);
    }

    private void overflown(int parameter) {
        allOverflows++;
        exponents[parameter] = Math.max(-MOST, exponents[parameter] - STEP_DOWN);
        if (++overflows[parameter] < control.fallbackAfter()) {
            return;
        }
        fallen.set(parameter);
        wide.set(parameter);
        if (set.rank() == 0) {
            LOG.warn(
                    "the gradient of \"{}\" was infinite or NaN in {} step(s) after it had travelled as float16: from now on"
                            + " it travels as {}, on all ranks. If it is not finite then either, the cause is not the"
                            + " format",
                    parameters.get(parameter).name(),
                    overflows[parameter],
                    parameters.get(parameter).gradient().dtype());
        }
    }

    /** Every rank comes here in the same step. */
    private void agree() {
        set.allreduceInPlace(scope + "range", Tensor.of(maxima), AllreduceOptions.of(ReduceOp.MAX));
        for (int i = watched.nextSetBit(0); i >= 0; i = watched.nextSetBit(i + 1)) {
            maximum = Math.max(maximum, maxima[i]);
            if (maxima[i] > 0) {
                exponents[i] = exponentFor(maxima[i], set.size());
            }
            maxima[i] = 0;
        }
        wide.clear();
        wide.or(fallen);
        if (set.rank() == 0 && allOverflows != overflowsSaid) {
            overflowsSaid = allOverflows;
            LOG.info(
                    "range control of float16 gradients, step {}: the greatest magnitude is {}; {} overflow(s); {} % of the"
                            + " elements of rank 0 that were looked at became zero; {} gradient(s) travel in their own type",
                    steps,
                    maximum,
                    allOverflows,
                    String.format("%.3f", 100 * stats().underflowShare()),
                    fallen.cardinality());
        }
    }

    /** The power of two that brings a sum of so many numbers of that magnitude below 2^13. */
    static int exponentFor(double magnitude, int ranks) {
        int ofSum = Math.getExponent(magnitude) + Integer.SIZE - Integer.numberOfLeadingZeros(ranks - 1);
        return Math.max(-MOST, Math.min(MOST, EXPONENT_OF_SUMS - ofSum));
    }

    RangeStats stats() {
        Map<String, Integer> narrow = new TreeMap<>();
        List<String> own = new ArrayList<>();
        for (int i = watched.nextSetBit(0); i >= 0; i = watched.nextSetBit(i + 1)) {
            if (fallen.get(i)) {
                own.add(parameters.get(i).name());
            } else {
                narrow.put(parameters.get(i).name(), exponents[i]);
            }
        }
        return new RangeStats(
                steps, observedElements, underflows, allOverflows, maximum, Map.copyOf(narrow), List.copyOf(own));
    }
}
