package io.hvd.optimizer.precision;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.GradScaler;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.RangeControl;
import io.hvd.optimizer.RangeStats;
import io.hvd.optimizer.gradients.GradientScan;
import java.util.ArrayList;
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
public final class WireRange implements GradientRange {
    private static final HvdLogger LOG = HvdLogger.of(WireRange.class);

    private final ProcessSet set;
    private final List<Parameter> parameters;
    /** The index of each parameter, by its name. */
    private final Map<String, Integer> places = new HashMap<>();

    private final RangeRules rules;
    private final TravelTypes types;
    private final RangeMeasure measure;
    private final RangeQuestions questions;
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
        this.joins = set.forOptimizers().joins();
        for (int i = 0; i < parameters.size(); i++) {
            places.put(parameters.get(i).name(), i);
        }
        this.rules = new RangeRules(control.everySteps(), control.fallbackAfter(), prescale, set.size());
        this.types = new TravelTypes(rules, watched(parameters, untouched), parameters.size());
        this.measure = new RangeMeasure(parameters, types);
        this.questions = new RangeQuestions(set, scope);
    }

    private static BitSet watched(List<Parameter> parameters, Predicate<Parameter> untouched) {
        BitSet watched = new BitSet();
        for (int i = 0; i < parameters.size(); i++) {
            Parameter parameter = parameters.get(i);
            if (!untouched.test(parameter)) {
                requireOnHost(parameter);
                watched.set(i, GradientScan.takes(parameter.gradient().dtype()));
            }
        }
        return watched;
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
        return types.isWide(places.get(parameter.name()));
    }

    private boolean looks() {
        return together >= nextLook;
    }

    @Override
    public boolean begin() {
        if (underWay) {
            return false;
        }
        underWay = true;
        settle();
        if (set.forOptimizers().joins() != joins) {
            joins = set.forOptimizers().joins();
            together = 0;
            nextLook = 0;
            types.beginAnew();
            changed = true;
        }
        boolean others = changed;
        changed = false;
        return others;
    }

    /** The step itself does not wait, because the ranks may step several optimizers in different orders; the next gradients do. */
    @Override
    public void settle() {
        BitSet before = types.wide();
        questions.settle();
        changed |= !types.areWide(before);
    }

    @Override
    public void leaving(int parameter) {
        measure.leaving(parameter, looks());
    }

    @Override
    public void undo() {
        underWay = false;
        measure.undo();
    }

    @Override
    public void arrived() {
        underWay = false;
        BitSet suspects = measure.arrived();
        if (!suspects.isEmpty()) {
            blame(suspects);
        }
        if (looks()) {
            long step = together;
            questions.ask("range", measure.maxima(), () -> agree(step));
        }
        steps++;
        together++;
    }

    /**
     * The averages that are not finite are so on all ranks, and so all come here together. They ask each other whether a gradient was not
     * finite before it travelled, as a {@link GradScaler} makes some on purpose: float16 has no part in that.
     */
    private void blame(BitSet suspects) {
        float[] anywhere = measure.broken();
        long step = together;
        questions.ask(
                "range.overflows",
                anywhere,
                () -> suspects.stream()
                        .filter(parameter -> anywhere[parameter] == 0)
                        .forEach(parameter -> overflown(parameter, step)));
    }

    private void overflown(int parameter, long step) {
        if (types.overflow(parameter, step) && set.rank() == 0) {
            LOG.warn(
                    "the gradient of \"{}\" was infinite or NaN in {} step(s) after it had travelled as float16, and finite"
                            + " on every rank before: from now on it travels as {}, on all ranks",
                    parameters.get(parameter).name(),
                    types.overflows(parameter),
                    parameters.get(parameter).gradient().dtype());
        }
    }

    /** Every rank has asked in the same step. */
    private void agree(long step) {
        float[] maxima = measure.maxima();
        boolean finite = true;
        for (int i = types.nextWatched(0); i >= 0; i = types.nextWatched(i + 1)) {
            if (maxima[i] == Float.POSITIVE_INFINITY) {
                finite = false;
            } else if (maxima[i] > 0) {
                maximum = Math.max(maximum, maxima[i]);
                types.seen(i, maxima[i]);
            }
            maxima[i] = 0;
        }
        nextLook = rules.nextLook(step, finite);
        types.narrow();
        if (set.rank() == 0 && types.overflows() != overflowsSaid) {
            overflowsSaid = types.overflows();
            sayWhatWasSeen();
        }
    }

    private void sayWhatWasSeen() {
        LOG.info(
                "range control of float16 gradients, step {}: the greatest magnitude is {}; {} overflow(s); {} % of the"
                        + " elements of rank {} that were looked at became zero; {} gradient(s) travel in their own type",
                steps,
                maximum,
                types.overflows(),
                String.format(Locale.ROOT, "%.3f", 100 * stats().underflowShare()),
                set.ranks().get(0),
                types.countWide());
    }

    public RangeStats stats() {
        Map<String, Integer> narrow = new TreeMap<>();
        List<String> own = new ArrayList<>();
        for (int i = types.nextWatched(0); i >= 0; i = types.nextWatched(i + 1)) {
            if (types.hasFallen(i)) {
                own.add(parameters.get(i).name());
            } else if (!types.isWide(i)) {
                narrow.put(parameters.get(i).name(), types.exponent(i));
            }
        }
        return new RangeStats(
                steps,
                measure.observedElements(),
                measure.underflows(),
                types.overflows(),
                maximum,
                Map.copyOf(narrow),
                List.copyOf(own));
    }
}
