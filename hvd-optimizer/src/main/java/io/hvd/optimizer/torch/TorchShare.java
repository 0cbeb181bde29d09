package io.hvd.optimizer.torch;

import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.ShardedShare;
import io.hvd.optimizer.torch.gradient.TorchGradients;
import io.hvd.optimizer.torch.parameter.GroupRates;
import io.hvd.optimizer.torch.parameter.NamedParameters;
import io.hvd.optimizer.torch.parameter.TorchSettings;
import io.hvd.optimizer.torch.state.TorchState;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Optimizer;

/** One rank's share of a LibTorch optimizer. */
final class TorchShare implements ShardedShare {
    /** The one setting of {@link TorchSettings} that differs between the ranks. */
    private static final String COUNT = "parameters";

    private final Optimizer inner;
    private final TorchGradients gradients;
    private final GroupRates rates;
    private final TorchState state;

    TorchShare(Optimizer inner, NamedParameters named, TorchGradients gradients) {
        this.inner = TorchOptimizer.prepared(inner);
        this.gradients = gradients;
        this.rates = new GroupRates(inner);
        this.state = TorchState.ofShare(inner, named, gradients.parameters());
    }

    @Override
    public void step() {
        inner.step().close();
        state.stepped();
    }

    @Override
    public double learningRate() {
        return rates.first();
    }

    @Override
    public void learningRate(double rate) {
        rates.set(rate);
    }

    @Override
    public Map<String, String> settings() {
        Map<String, String> settings = TorchSettings.of(inner);
        settings.remove(COUNT);
        return settings;
    }

    @Override
    public long stateBytes() {
        return state.bytes();
    }

    @Override
    public byte[] save() {
        return state.save();
    }

    @Override
    public NamedState named() {
        return state.named();
    }

    @Override
    public void load(NamedState share) {
        gradients.arrived();
        if (share.bytes().isPresent()) {
            state.load(share.bytes().get());
        } else {
            state.load(share);
        }
    }

    @Override
    public long fullStateBytes() {
        return state.fullBytes();
    }

    /** Each parameter has its number of steps among its tensors. */
    @Override
    public NamedState join(List<NamedState> parts) {
        return NamedState.union(parts);
    }
}
