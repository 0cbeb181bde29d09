package io.hvd.optimizer.djl;

import ai.djl.training.tracker.ParameterTracker;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.Parameter;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A DJL optimizer with the parameters of a block, in the block's order; what a {@link DistributedTrainer} averages for. */
final class DjlOptimizer implements Optimizer {
    private final ai.djl.training.optimizer.Optimizer inner;
    private final List<ParameterSlot> slots;
    private final OptimizerMemory memory;
    private final Optional<ParameterTracker> tracker;

    DjlOptimizer(ai.djl.training.optimizer.Optimizer inner, List<ParameterSlot> slots) {
        this.inner = inner;
        this.slots = slots;
        this.memory = new OptimizerMemory(inner, slots);
        this.tracker = OptimizerFields.tracker(inner);
    }

    /** From the first backward on. */
    @Override
    public List<Parameter> parameters() {
        return slots.stream().map(ParameterSlot::asParameter).toList();
    }

    /** After the first backward. */
    void bindGradients() {
        slots.forEach(ParameterSlot::bindGradient);
    }

    /** Brings the gradients to where they are averaged. */
    void gather() {
        slots.forEach(ParameterSlot::requireInPlace);
        slots.forEach(ParameterSlot::gather);
    }

    boolean hasNoGradient() {
        return slots.stream().allMatch(ParameterSlot::hasZeroGradient);
    }

    /** Updates each parameter as DJL's own trainer does, which clears its gradient too. */
    @Override
    public void step() {
        slots.forEach(slot -> inner.update(slot.id(), slot.value(), slot.gradient()));
    }

    @Override
    public void zeroGradients() {
        slots.forEach(ParameterSlot::clearGradient);
    }

    /** The rate of the next step by DJL's tracker; NaN if the optimizer has none. */
    @Override
    public double learningRate() {
        return tracker.map(rates -> (double) rates.getNewValue(slots.get(0).id(), memory.updates() + 1))
                .orElse(Double.NaN);
    }

    @Override
    public void learningRate(double rate) {
        throw new HvdException(
                ErrorId.UNSUPPORTED,
                "learningRate(" + rate + "): the rate of a DJL optimizer is what its tracker says, such as"
                        + " Tracker.cosine(); give the optimizer another tracker");
    }

    @Override
    public Map<String, String> settings() {
        return OptimizerFields.settings(inner);
    }

    @Override
    public byte[] saveState() {
        return memory.save();
    }

    @Override
    public void loadState(byte[] state) {
        memory.load(state);
    }

    @Override
    public NamedState namedState() {
        return memory.named();
    }

    @Override
    public void loadNamedState(NamedState state) {
        if (state.bytes().isPresent()) {
            loadState(state.bytes().get());
        } else {
            memory.load(state);
        }
    }
}
