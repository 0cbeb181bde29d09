package io.hvd.optimizer;

import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.gradients.GradientClip;
import io.hvd.optimizer.precision.ScalerState;
import io.hvd.tensor.JoinDivisor;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Trains in mixed precision and keeps the order that this needs: the loss is scaled, backward runs, the gradients are
 * averaged over the ranks, divided by the scale and clipped, the step is made or, on all ranks, skipped, and the scale is
 * adapted. A call in any other order is an error, also a step of the {@link DistributedOptimizer} itself.
 *
 * <pre>{@code
 * var amp = AmpOptimizer.wrap(optimizer).clipGradientNorm(1).build();
 * ...
 * amp.zeroGradients();
 * Tensor loss;
 * try (var half = Autocast.to(ScalarType.Half, DeviceType.CUDA)) {
 *     loss = loss(model, batch);
 * }
 * amp.backward(scale -> TorchOptimizer.backward(loss, scale));
 * amp.step();
 * }</pre>
 *
 * Only one thread at a time may use it.
 */
public final class AmpOptimizer implements AveragingOptimizer, AutoCloseable {
    private final DistributedOptimizer optimizer;
    private final GradScaler scaler;
    /** Infinite if nothing is clipped. */
    private final double maxNorm;

    private int passes;
    /** The factor of this step's losses; it has no meaning before the first backward of the step. */
    private double scale;
    /** Whether a backward has failed since the last {@link #zeroGradients()}, so that a part of its gradients may be there. */
    private boolean failed;

    private boolean stepped;
    private long skipped;
    private double lastNorm = Double.NaN;
    /** Whether the next step is to know its norm although nothing is clipped. */
    private boolean measuresNorm;

    private AmpOptimizer(Builder builder) {
        this.optimizer = builder.optimizer;
        this.scaler = builder.scaler;
        this.maxNorm = builder.maxNorm;
        optimizer.onlyThrough("AmpOptimizer", this::comparedSettings);
        optimizer.scaledBy(scaler);
    }

    /** The scale itself is compared in every step. */
    private Map<String, String> comparedSettings() {
        Map<String, String> settings = scaler.comparedSettings();
        if (maxNorm < Double.POSITIVE_INFINITY) {
            settings.put("clipped norm of unscaled gradients", String.valueOf(maxNorm));
        }
        return settings;
    }

    /** Begins to wrap an optimizer, which is then stepped through this one only. */
    public static Builder wrap(DistributedOptimizer optimizer) {
        return new Builder(optimizer);
    }

    /** One backward pass. */
    public interface Backward {
        /**
         * Computes the gradients of the loss times the scale. With LibTorch it is
         * {@code TorchOptimizer.backward(loss, scale)}.
         */
        void run(double scale);
    }

    /**
     * Runs a backward pass on a scaled loss; as many times per step as {@code backwardPassesPerStep} says. If it throws,
     * {@link #zeroGradients()} comes before the next step.
     *
     * @throws HvdException if the scale is not that of an earlier pass of the same step
     */
    public void backward(Backward pass) {
        requireSameScale("backward(...)");
        boolean failedBefore = failed;
        failed = true;
        scale = scaler.scale(1.0);
        pass.run(scale);
        failed = failedBefore;
        passes++;
    }

    /** Says of a trainer with its own backward what {@link DistributedOptimizer#gradientReady(String)} says. */
    public void gradientReady(String name) {
        optimizer.gradientReady(name);
    }

    /**
     * Averages, unscales and clips the gradients, and steps, unless any rank's gradients are not finite: then all
     * ranks skip the step ({@link #stepped()}), and the scale becomes smaller.
     *
     * @throws HvdException if there was no {@link #backward} since the last step, or one has failed since the last
     *     {@link #zeroGradients()}; or if the scale has changed since then, as another optimizer with the same scaler
     *     changes it; or as {@link DistributedOptimizer#step()}
     */
    @Override
    public void step() {
        requireBackward();
        requireSameScale("step()");
        boolean clips = maxNorm < Double.POSITIVE_INFINITY;
        boolean knows = clips || measuresNorm;
        measuresNorm = false;
        double norm = scaler.unscale(optimizer, knows);
        lastNorm = knows ? norm : Double.NaN;
        if (clips) {
            GradientClip.scaleDown(optimizer.gradients(), norm, maxNorm); // with ADASUM each rank its own
        }
        stepped = scaler.step(optimizer);
        if (!stepped) {
            skipped++;
        }
        scaler.update();
        passes = 0;
    }

    private void requireBackward() {
        if (passes == 0 || failed) {
            throw misuse(
                    "step()",
                    (failed
                                    ? "comes after a backward(...) that has failed, and may have left a part of its"
                                            + " gradients, without zeroGradients() since then. Where gradients are"
                                            + " being averaged already, synchronize() of the optimizer inside comes"
                                            + " before it"
                                    : "comes without backward(...) since the last step or zeroGradients()")
                            + ". The order is zeroGradients(), backward(scale -> ...), step(); a loss whose backward"
                            + " runs outside of backward(...) is not scaled");
        }
    }

    private void requireSameScale(String call) {
        if (passes > 0 && scaler.scale() != scale) {
            throw misuse(
                    call,
                    "comes after a loss was multiplied by " + scale + ", but its gradients would be divided by "
                            + scaler.scale() + ", which the scale is now: the step of another optimizer with the same"
                            + " GradScaler, or a call of the scaler itself, has changed it since the first"
                            + " backward(...). Give each AmpOptimizer a GradScaler of its own, or end each one's step"
                            + " before another's backward(...); zeroGradients() begins this one anew");
        }
    }

    private HvdException misuse(String call, String how) {
        return new HvdException(
                ErrorId.OPTIMIZER_MISUSE, "AmpOptimizer." + call + ", for " + optimizer.inWords() + ", " + how);
    }

    /** Whether the last {@link #step()} has changed the parameters; false if it was skipped. */
    public boolean stepped() {
        return stepped;
    }

    /** The number of steps that were skipped because of an overflow on any rank. */
    public long skippedSteps() {
        return skipped;
    }

    /**
     * Has the next {@link #step()} find the norm of its gradients, for {@link #lastGradientNorm}, although nothing is clipped. Every
     * rank calls it before the same step.
     */
    public void measureGradientNorm() {
        measuresNorm = true;
    }

    /**
     * The norm of the last step's gradients before they were clipped, with ADASUM of this rank's own; NaN if {@code
     * clipGradientNorm} was not called, nor {@link #measureGradientNorm} for that step.
     */
    public double lastGradientNorm() {
        return lastNorm;
    }

    /** The scaler, to read its scale. */
    public GradScaler scaler() {
        return scaler;
    }

    /** Figures about the communication of the last step. */
    public StepStats lastStep() {
        return optimizer.lastStep();
    }

    @Override
    public long stepsMade() {
        return optimizer.stepsMade();
    }

    @Override
    public List<Parameter> parameters() {
        return optimizer.parameters();
    }

    /** Clears the gradients; as {@link DistributedOptimizer#zeroGradients()}. */
    @Override
    public void zeroGradients() {
        optimizer.zeroGradients();
        passes = 0;
        failed = false;
    }

    /** Overwrites the parameters of every rank with those of the root. */
    public void broadcastParameters(int root) {
        optimizer.broadcastParameters(root);
    }

    /** The names of {@link DistributedOptimizerBuilder#localParameters}; usually none. */
    public Set<String> localParameters() {
        return optimizer.localParameters();
    }

    /** Overwrites the optimizer state of every rank, and the scaler's, with the root's. */
    public void broadcastOptimizerState(int root) {
        optimizer.broadcastOptimizerState(root, this);
    }

    /**
     * Does what {@link DistributedOptimizer#join(JoinDivisor)} does, and gives all ranks the scaler's state too.
     *
     * @return the global rank that was last
     */
    public int join(JoinDivisor divisor) {
        return optimizer.join(divisor, this);
    }

    /** Goes on in another context, as {@link DistributedOptimizer#rebind} says. The scaler forgets a step that was not ended, and keeps its scale. */
    public void rebind(HvdContext next) {
        optimizer.rebind(next);
        scaler.begin();
    }

    /** The optimizer that it wraps, to ask it something; its {@link DistributedOptimizer#step()} is refused. */
    public DistributedOptimizer inside() {
        return optimizer;
    }

    @Override
    public double learningRate() {
        return optimizer.learningRate();
    }

    @Override
    public void learningRate(double rate) {
        optimizer.learningRate(rate);
    }

    @Override
    public Map<String, String> settings() {
        return optimizer.settings();
    }

    /** The scaler's state and the optimizer's. */
    @Override
    public byte[] saveState() {
        return ScalerState.join(scaler.stateDict(), optimizer.saveState());
    }

    /**
     * Takes over what {@link #saveState} wrote, on every rank.
     *
     * @throws HvdException if it does not fit, such as a state without a scaler's; then nothing is changed
     */
    @Override
    public void loadState(byte[] state) {
        Map<String, Double> scalers = new TreeMap<>();
        byte[] optimizers = ScalerState.split(state, scalers);
        load(scalers, () -> optimizer.loadState(optimizers));
    }

    /** Gives the scaler back what it had if the optimizer's state does not fit. */
    private void load(Map<String, Double> scalers, Runnable optimizers) {
        Map<String, Double> before = scaler.stateDict();
        scaler.loadStateDict(scalers);
        try {
            optimizers.run();
        } catch (HvdException e) {
            scaler.loadStateDict(before);
            throw e;
        }
        passes = 0;
    }

    /** The scaler's state is in the words. */
    @Override
    public NamedState namedState() {
        return withScaler(optimizer.namedState());
    }

    @Override
    public NamedState wholeState() {
        return withScaler(optimizer.wholeState());
    }

    private NamedState withScaler(NamedState inside) {
        if (inside.bytes().isPresent()) {
            return NamedState.ofBytes(saveState());
        }
        SortedMap<String, String> words = new TreeMap<>(inside.words());
        scaler.stateDict().forEach((key, number) -> words.put(ScalerState.PREFIX + key, Double.toString(number)));
        return new NamedState(inside.tensors(), words);
    }

    @Override
    public void loadNamedState(NamedState state) {
        if (state.bytes().isPresent()) {
            AveragingOptimizer.super.loadNamedState(state);
            return;
        }
        load(ScalerState.of(state), () -> optimizer.loadNamedState(ScalerState.without(state)));
    }

    @Override
    public boolean keepsStateOf(String parameter) {
        return optimizer.keepsStateOf(parameter);
    }

    @Override
    public long fullStateBytes() {
        return optimizer.fullStateBytes();
    }

    /** The optimizer inside, and the scaler. */
    @Override
    public String toString() {
        return "AmpOptimizer(" + optimizer + ", " + scaler + ")";
    }

    /** Closes the optimizer inside, as {@link DistributedOptimizer#close()} says. */
    @Override
    public void close() {
        optimizer.close();
    }

    /** Settings of an {@link AmpOptimizer}. All ranks must choose the same settings. */
    public static final class Builder {
        private final DistributedOptimizer optimizer;
        private GradScaler scaler = new GradScaler();
        private double maxNorm = Double.POSITIVE_INFINITY;

        private Builder(DistributedOptimizer optimizer) {
            this.optimizer = Objects.requireNonNull(optimizer, "optimizer");
        }

        /**
         * Sets the scaler; the default is a new one with torch's values. Each step adapts it, so two optimizers whose
         * backward passes and steps alternate, as in a GAN, have one each. For bfloat16, whose range is float32's, it is
         * {@link GradScaler#disabled()}.
         */
        public Builder scaler(GradScaler chosen) {
            this.scaler = Objects.requireNonNull(chosen, "scaler");
            return this;
        }

        /**
         * Scales the averaged gradients down before each step if the norm of all of them together is larger; with ADASUM, which
         * averages none, each rank its own.
         */
        public Builder clipGradientNorm(double max) {
            if (!(max > 0)) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT, "clipGradientNorm(" + max + "): expected a number above 0");
            }
            this.maxNorm = max;
            return this;
        }

        /**
         * The optimizer. From now on the wrapped one refuses {@link DistributedOptimizer#step()}.
         *
         * @throws HvdException if another one wraps it already
         */
        public AmpOptimizer build() {
            return new AmpOptimizer(this);
        }
    }
}
