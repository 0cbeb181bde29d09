package io.hvd.optimizer.torch;

import io.hvd.optimizer.JoinedShares;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.ShardedShare;
import io.hvd.optimizer.torch.gradient.TorchGradients;
import io.hvd.optimizer.torch.parameter.GroupRates;
import io.hvd.optimizer.torch.parameter.NamedParameters;
import io.hvd.optimizer.torch.parameter.TorchSettings;
import io.hvd.optimizer.torch.state.ShareArchive;
import io.hvd.optimizer.torch.state.TorchArchive;
import io.hvd.optimizer.torch.state.TorchState;
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
    private final int[] owners;
    private final int rank;

    TorchShare(Optimizer inner, NamedParameters named, TorchGradients gradients, int[] owners, int rank) {
        this.inner = TorchOptimizer.prepared(inner);
        this.gradients = gradients;
        this.rates = new GroupRates(inner);
        this.state = TorchState.ofShare(inner, named, gradients.parameters());
        this.owners = owners;
        this.rank = rank;
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
        return ShareArchive.stateBytes(save());
    }

    @Override
    public byte[] save() {
        return TorchArchive.writeState(inner);
    }

    @Override
    public NamedState named() {
        return state.named();
    }

    @Override
    public void load(NamedState share) {
        gradients.arrived();
        state.load(share);
    }

    @Override
    public long fullStateBytes() {
        return state.fullBytes();
    }

    @Override
    public byte[] join(JoinedShares shares) {
        byte[] saved = shares.saved() == null ? null : state.archived(shares.saved());
        return state.headed(ShareArchive.join(shares, saved));
    }

    @Override
    public void load(byte[] whole) {
        gradients.arrived();
        state.load(whole, archive -> ShareArchive.part(archive, owners, rank));
    }
}
