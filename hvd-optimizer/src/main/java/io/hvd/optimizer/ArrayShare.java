package io.hvd.optimizer;

import io.hvd.optimizer.arrays.ArrayTensors;
import java.util.List;
import java.util.Map;

/** One rank's share of an optimizer on plain arrays. */
final class ArrayShare implements ShardedShare {
    /** The parameters of the model. */
    private final List<Parameter> all;

    private final ArrayOptimizer own;

    ArrayShare(List<Parameter> all, ArrayOptimizer own) {
        this.all = all;
        this.own = own;
    }

    @Override
    public void step() {
        own.step();
    }

    @Override
    public double learningRate() {
        return own.learningRate();
    }

    @Override
    public void learningRate(double rate) {
        own.learningRate(rate);
    }

    @Override
    public Map<String, String> settings() {
        return own.settings();
    }

    @Override
    public long stateBytes() {
        return own.buffers().stream().mapToLong(buffer -> 4L * buffer.length).sum();
    }

    @Override
    public byte[] save() {
        return own.saveState();
    }

    @Override
    public NamedState named() {
        return own.namedState();
    }

    @Override
    public void load(NamedState share) {
        own.loadNamedState(share);
    }

    @Override
    public long fullStateBytes() {
        return own.fullStateBytes();
    }

    @Override
    public NamedState join(List<NamedState> parts) {
        return ArrayTensors.join(own.stateOver(all), parts);
    }
}
