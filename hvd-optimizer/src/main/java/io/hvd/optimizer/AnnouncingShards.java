package io.hvd.optimizer;

import io.hvd.ProcessSet;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Optional;

/** Passes on what gradients announce during backward. */
final class AnnouncingShards extends ShardedOptimizer implements GradientSource {
    private final GradientSource source;

    AnnouncingShards(ProcessSet set, ShardedState state, GradientSource source) {
        super(set, state);
        this.source = source;
    }

    @Override
    public void listen(Listener listener) {
        source.listen(listener);
    }

    @Override
    public void stage(int parameter) {
        source.stage(parameter);
    }

    @Override
    public void stageAll(List<Integer> parameters) {
        source.stageAll(parameters);
    }

    @Override
    public void stageKept(List<Integer> parameters) {
        source.stageKept(parameters);
    }

    @Override
    public boolean keepsUntilStaged() {
        return source.keepsUntilStaged();
    }

    @Override
    public void requireInPlace() {
        source.requireInPlace();
    }

    @Override
    public void multiplyAccumulated(double factor) {
        source.multiplyAccumulated(factor);
    }

    @Override
    public void arrived() {
        source.arrived();
    }

    @Override
    public Optional<Tensor> ownGradient(int parameter) {
        return source.ownGradient(parameter);
    }

    @Override
    public void adopt() {
        source.adopt();
    }

    @Override
    public boolean addsToLastStep() {
        return source.addsToLastStep();
    }

    @Override
    public boolean hasNewGradient() {
        return source.hasNewGradient();
    }
}
