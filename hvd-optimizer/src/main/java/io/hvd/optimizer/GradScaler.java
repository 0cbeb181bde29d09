package io.hvd.optimizer;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.precision.OverflowVote;
import io.hvd.optimizer.precision.ScalerState;
import io.hvd.tensor.DType;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * Multiplies losses by a scale, so that gradients in float16 do not vanish, and adapts the scale: a step whose gradients
 * are not finite is skipped, and the scale halved; after 2000 steps in a row without one it is doubled. The numbers, the
 * rules and the state are those of torch's {@code GradScaler}, with two additions. All ranks skip a step if one of them
 * has to, and their scales stay equal. The optimizer is a distributed one, whose gradients are averaged first.
 *
 * <pre>{@code
 * optimizer.zeroGradients();
 * TorchOptimizer.backward(loss, scaler.scale(1)); // or, with arrays: the gradients of scaler.scale(loss)
 * scaler.unscale(optimizer);                      // to clip, for instance; step does it otherwise
 * scaler.step(optimizer);                         // unless an overflow was found on any rank
 * scaler.update();
 * }</pre>
 *
 * {@link AmpOptimizer} makes these calls in this order. Every rank makes the same calls, on one thread at a time.
 */
public final class GradScaler {
    private static final HvdLogger LOG = HvdLogger.of(GradScaler.class);

    private static final String ORDER = "The order is scale(loss), backward, unscale(optimizer) if gradients are to be"
            + " clipped, step(optimizer), update()";

    private final boolean enabled;
    private float scale;
    private double growthFactor;
    private double backoffFactor;
    private int growthInterval;
    private int growthTracker;

    /** Whether a loss has been scaled since the last {@link #update()}. */
    private boolean scaled;
    /** The calls since the last {@link #update()}. */
    private final Map<DistributedOptimizer, Progress> progress = new IdentityHashMap<>();

    private int overflowsInARow;
    private boolean warned;

    private record Progress(boolean stepped, boolean overflow, double norm) {}

    /** With torch's default values: the scale is 65536 at first, and is doubled and halved. */
    public GradScaler() {
        this(builder());
    }

    private GradScaler(Builder builder) {
        this.enabled = builder.enabled;
        this.scale = builder.initScale;
        this.growthFactor = builder.growthFactor;
        this.backoffFactor = builder.backoffFactor;
        this.growthInterval = builder.growthInterval;
    }

    /** Begins with torch's default values. */
    public static Builder builder() {
        return new Builder();
    }

    /** A scaler that scales nothing and skips no step, for bfloat16 and float32. */
    public static GradScaler disabled() {
        return builder().enabled(false).build();
    }

    /** False for one that scales nothing. */
    public boolean isEnabled() {
        return enabled;
    }

    /** The loss times the scale; the gradients are to be those of this product. Disabled, it is the loss itself. */
    public double scale(double loss) {
        scaled = true;
        return loss * scale();
    }

    /** The current scale; 1 if disabled. */
    public double scale() {
        return enabled ? scale : 1;
    }

    /** The number of steps without an overflow since the scale was last changed. */
    public int growthTracker() {
        return growthTracker;
    }

    /**
     * Averages the gradients, unless {@link DistributedOptimizer#synchronize()} has done so, divides them by the scale,
     * and has the ranks agree whether any of them found one that is not finite. Call it before {@link #step} to read or
     * change the gradients, and on all ranks.
     *
     * @throws HvdException if no loss was scaled since the last {@link #update()}, if it or {@link #step} was called
     *     since then, or if gradients are in float16, in which the quotients would vanish. Or, on all ranks, if their
     *     scales differ
     */
    public void unscale(DistributedOptimizer optimizer) {
        unscale(optimizer, false);
    }

    /**
     * @param withNorm whether the norm is to be known, too
     * @return the norm of the unscaled gradients, the same on all ranks but with ADASUM; any number where it is not asked for
     */
    double unscale(DistributedOptimizer optimizer, boolean withNorm) {
        if (!enabled) {
            optimizer.synchronizeOnce(true);
            return withNorm ? optimizer.agreedNorm() : 0;
        }
        Progress before = progress.get(optimizer);
        if (before != null) {
            throw misuse(
                    "unscale",
                    optimizer,
                    before.stepped
                            ? "comes after step() of the same optimizer"
                            : "has already been called for it since the last update()");
        }
        requireScaled("unscale", optimizer);
        requireWide(optimizer);
        optimizer.scaledBy(this);
        optimizer.synchronizeOnce(!explainsOverflows());
        GradientArithmetic gradients = optimizer.gradients();
        int first = gradients.multiplyGradients(1 / (double) scale);
        OverflowVote.Verdict verdict = optimizer.agree(first >= 0, scale, withNorm);
        if (verdict.overflow()) {
            LOG.debug(
                    "the gradients of a loss times {} are not finite, the first in {}",
                    scale,
                    first < 0 ? "those of another rank" : optimizer.parameters().get(first));
        }
        progress.put(optimizer, new Progress(false, verdict.overflow(), verdict.norm()));
        return verdict.norm();
    }

    /** A scale of 1 or less makes no gradient larger. */
    private boolean explainsOverflows() {
        return scale > 1;
    }

    /**
     * Steps the optimizer by its unscaled gradients, unless any rank has found one that is not finite. Calls
     * {@link #unscale} first if the program has not. Disabled, it averages and steps as the optimizer itself does.
     *
     * @return false if the step is skipped, on all ranks
     * @throws HvdException if it was called for this optimizer since the last {@link #update()}; or as {@link #unscale}
     */
    public boolean step(DistributedOptimizer optimizer) {
        if (!enabled) {
            optimizer.synchronizeOnce(true);
            optimizer.stepAsTheyAre();
            return true;
        }
        if (!progress.containsKey(optimizer)) {
            requireScaled("step", optimizer);
            unscale(optimizer);
        }
        Progress found = progress.get(optimizer);
        if (found.stepped) {
            throw misuse("step", optimizer, "has already been called for it since the last update()");
        }
        progress.remove(optimizer); // a step that is refused is over, and the next iteration may begin
        if (found.overflow) {
            optimizer.skipStep(explainsOverflows());
        } else {
            optimizer.stepAsTheyAre();
        }
        progress.put(optimizer, new Progress(true, found.overflow, found.norm));
        return !found.overflow;
    }

    /**
     * Adapts the scale to what was found for all optimizers since the last call, and begins the next iteration.
     *
     * @throws HvdException if there was neither {@link #unscale} nor {@link #step} since then, so that nothing is known
     */
    public void update() {
        if (!enabled) {
            return;
        }
        requireChecked();
        boolean overflow = progress.values().stream().anyMatch(Progress::overflow);
        begin();
        if (overflow) {
            backOff();
        } else {
            overflowsInARow = 0;
            grow();
        }
    }

    /**
     * Sets the scale, on every rank the same, instead of adapting it, and begins the next iteration; as with torch, also before any
     * gradients were checked. Losses that were scaled before no longer count.
     */
    public void update(double newScale) {
        if (enabled) {
            float found = requireScale("update(" + newScale + ")", newScale);
            begin();
            scale = found;
        }
    }

    /** Begins the next iteration with the scale as it is. */
    void begin() {
        progress.clear();
        scaled = false;
    }

    private void backOff() {
        overflowsInARow++;
        growthTracker = 0;
        float less = (float) (scale * backoffFactor);
        if (less < 1 && !warned) {
            warned = true;
            LOG.warn(
                    "the loss scale falls below 1, to {}: {} step(s) in a row had gradients that are not finite and were"
                            + " skipped. No scale will help if the loss itself, the weights or the data are not finite;"
                            + " look at the loss of each rank",
                    less,
                    overflowsInARow);
        }
        // torch goes on to 0, whose inverse makes every later gradient NaN.
        scale = Math.max(less, Float.MIN_NORMAL);
    }

    private void grow() {
        growthTracker++;
        if (growthTracker == growthInterval) {
            growthTracker = 0;
            float more = (float) (scale * growthFactor);
            if (Float.isFinite(more)) {
                scale = more;
            }
        }
    }

    /** The settings that the ranks compare in the first step, in words. */
    Map<String, String> comparedSettings() {
        Map<String, String> settings = new TreeMap<>();
        settings.put("loss scaler", enabled ? "enabled" : "disabled");
        if (enabled) {
            settings.put("growth factor of the loss scale", String.valueOf(growthFactor));
            settings.put("backoff factor of the loss scale", String.valueOf(backoffFactor));
            settings.put("growth interval of the loss scale", String.valueOf(growthInterval));
        }
        return settings;
    }

    /** The scale, and how near its next growth is. */
    @Override
    public String toString() {
        return enabled
                ? "GradScaler(scale " + scale + ", " + growthTracker + " of " + growthInterval
                        + " steps without an overflow)"
                : "GradScaler(disabled)";
    }

    /** The state by torch's names; empty if disabled. Every rank has the same. */
    public Map<String, Double> stateDict() {
        Map<String, Double> state = new TreeMap<>();
        if (enabled) {
            state.put("scale", (double) scale);
            state.put("growth_factor", growthFactor);
            state.put("backoff_factor", backoffFactor);
            state.put("growth_interval", (double) growthInterval);
            state.put("_growth_tracker", (double) growthTracker);
        }
        return state;
    }

    /**
     * Takes over what {@link #stateDict} gave, on every rank, and begins the next iteration. Disabled, it takes nothing.
     *
     * @throws HvdException if the state is empty, as that of a disabled scaler is, or a number is missing or not
     *     allowed; then nothing is changed
     */
    public void loadStateDict(Map<String, Double> state) {
        if (enabled) {
            Builder checked = ScalerState.builder(state);
            int tracker = ScalerState.tracker(state);
            scale = checked.initScale;
            growthFactor = checked.growthFactor;
            backoffFactor = checked.backoffFactor;
            growthInterval = checked.growthInterval;
            growthTracker = tracker;
            begin();
        }
    }

    private void requireScaled(String call, DistributedOptimizer optimizer) {
        if (!scaled) {
            throw misuse(
                    call,
                    optimizer,
                    "comes without scale(loss) since the last update(), so that gradients would be divided by " + scale
                            + " that were never multiplied by it");
        }
    }

    private void requireChecked() {
        if (progress.isEmpty()) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "update() without unscale(optimizer) or step(optimizer) since the last one: no gradients were"
                            + " checked for overflow, so the scale " + scale + " cannot be adapted. " + ORDER);
        }
    }

    private static void requireWide(DistributedOptimizer optimizer) {
        for (Parameter parameter : optimizer.parameters()) {
            if (parameter.gradient().dtype() == DType.FLOAT16) {
                throw new HvdException(
                        ErrorId.OPTIMIZER_MISUSE,
                        "unscale(optimizer): the gradient of \"" + parameter.name() + "\", " + parameter.gradient()
                                + ", is in float16, in which it would vanish when it is divided by the scale. Keep"
                                + " the parameters in float32 and compute in float16 by Autocast, or train in bfloat16"
                                + " without a scaler");
            }
        }
    }

    static HvdException misuse(String call, DistributedOptimizer optimizer, String how) {
        return new HvdException(
                ErrorId.OPTIMIZER_MISUSE, call + "(optimizer), for " + optimizer.inWords() + ", " + how + ". " + ORDER);
    }

    private static float requireScale(String where, double scale) {
        float found = (float) scale;
        if (!(found >= Float.MIN_NORMAL) || Float.isInfinite(found)) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, where + ": the scale must be a positive, finite float32, found " + scale);
        }
        return found;
    }

    /** Settings of a {@link GradScaler}. All ranks must choose the same settings. */
    public static final class Builder {
        private float initScale = 65536;
        private double growthFactor = 2;
        private double backoffFactor = 0.5;
        private int growthInterval = 2000;
        private boolean enabled = true;

        Builder() {}

        /** Sets the first scale; the default is 65536. */
        public Builder initScale(double first) {
            this.initScale = requireScale("initScale(" + first + ")", first);
            return this;
        }

        /** Sets the factor by which the scale grows, more than 1; the default is 2. */
        public Builder growthFactor(double factor) {
            require(factor > 1 && Double.isFinite(factor), "growthFactor", factor, "more than 1");
            this.growthFactor = factor;
            return this;
        }

        /** Sets the factor for the scale after an overflow, less than 1; the default is 0.5. */
        public Builder backoffFactor(double factor) {
            require(factor > 0 && factor < 1, "backoffFactor", factor, "more than 0 and less than 1");
            this.backoffFactor = factor;
            return this;
        }

        /** Sets the number of steps in a row without an overflow after which the scale grows; the default is 2000. */
        public Builder growthInterval(int steps) {
            require(steps > 0, "growthInterval", steps, "1 or more");
            this.growthInterval = steps;
            return this;
        }

        /** Sets whether anything is scaled or checked at all, so that a program need not ask. */
        public Builder enabled(boolean scales) {
            this.enabled = scales;
            return this;
        }

        private static void require(boolean valid, String name, Object found, String expected) {
            if (!valid) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT, name + "(" + found + ") of a GradScaler: expected " + expected);
            }
        }

        /** A scaler with these settings. */
        public GradScaler build() {
            return new GradScaler(this);
        }
    }
}
