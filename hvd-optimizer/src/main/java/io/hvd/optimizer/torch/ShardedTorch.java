package io.hvd.optimizer.torch;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.GradientArithmetic;
import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.optimizer.ShardedState;
import io.hvd.optimizer.torch.memory.SharedStorage;
import io.hvd.optimizer.torch.parameter.TorchSettings;
import io.hvd.optimizer.torch.state.ShareArchive;
import io.hvd.optimizer.torch.state.TorchArchive;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.StringTensorDict;
import org.bytedeco.pytorch.StringTensorDictItemVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/** One rank's share of a LibTorch optimizer. The gradients of all parameters are collected and averaged on every rank. */
final class ShardedTorch implements ShardedState, GradientSource, GradientArithmetic {
    /** What {@link TorchSettings} counts, and what differs between the ranks. */
    private static final String COUNT = "parameters";

    private final Optimizer inner;
    private final TorchOptimizer optimizer;
    private final int[] owners;
    private final int rank;

    private ShardedTorch(Optimizer inner, TorchOptimizer optimizer, int[] owners, int rank) {
        this.inner = inner;
        this.optimizer = optimizer;
        this.owners = owners;
        this.rank = rank;
    }

    static ShardedTorch of(ProcessSet set, StringTensorDict named, Function<TensorVector, Optimizer> make) {
        List<Tensor> trainable = trainable(named);
        int[] owners = owners(set, trainable);
        int rank = set.included() ? set.rank() : 0;
        TensorVector share = new TensorVector();
        for (int i = 0; i < owners.length; i++) {
            if (owners[i] == rank) {
                share.push_back(trainable.get(i));
            }
        }
        Optimizer inner = make.apply(share);
        requireOneGroup(inner, share.size());
        return new ShardedTorch(inner, TorchOptimizer.ofShare(inner, named), owners, rank);
    }

    /** Parameters in the same memory are stepped on one rank: another rank's values would overwrite this one's step. */
    private static int[] owners(ProcessSet set, List<Tensor> trainable) {
        int[] firsts = SharedStorage.firsts(trainable);
        long[] bytes = new long[firsts.length];
        for (int i = 0; i < firsts.length; i++) {
            bytes[firsts[i]] += trainable.get(i).nbytes();
        }
        int[] owners = ShardedOptimizer.owners(set, bytes);
        return IntStream.of(firsts).map(first -> owners[first]).toArray();
    }

    private static void requireOneGroup(Optimizer inner, long share) {
        long groups = inner.param_groups().size();
        long members = groups == 1 ? inner.param_groups().get(0).params().size() : -1;
        if (groups != 1 || members != share) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "TorchOptimizer.sharded expects an optimizer with one parameter group of the " + share
                            + " parameters of this rank's share, found " + groups + " groups"
                            + (groups == 1 ? " of " + members + " parameters" : ""));
        }
    }

    /** The trainable tensors in the order of their names, each once, as {@link TorchOptimizer} takes them. */
    private static List<Tensor> trainable(StringTensorDict named) {
        List<Tensor> trainable = new ArrayList<>();
        Set<Long> known = new HashSet<>();
        StringTensorDictItemVector items = named.items();
        for (long i = 0; i < items.size(); i++) {
            Tensor value = new Tensor(items.get(i).access());
            if (value.requires_grad() && known.add(value.unsafeGetTensorImpl().address())) {
                trainable.add(value);
            }
        }
        Reference.reachabilityFence(named); // items point into it
        return trainable;
    }

    @Override
    public List<Parameter> parameters() {
        return optimizer.parameters();
    }

    @Override
    public int[] owners() {
        return owners;
    }

    @Override
    public void step() {
        optimizer.step();
    }

    @Override
    public void zeroGradients() {
        optimizer.zeroGradients();
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
        Map<String, String> settings = optimizer.settings();
        settings.remove(COUNT);
        return settings;
    }

    @Override
    public long stateBytes() {
        return ShareArchive.stateBytes(TorchArchive.writeState(inner));
    }

    @Override
    public byte[] saveShare() {
        return TorchArchive.writeState(inner);
    }

    @Override
    public byte[] join(List<byte[]> shares) {
        return optimizer.stateWith(ShareArchive.join(shares, owners));
    }

    @Override
    public byte[] saveState() {
        throw new UnsupportedOperationException("a share has no whole state");
    }

    /** Takes its share from the whole. */
    @Override
    public void loadState(byte[] whole) {
        optimizer.loadState(whole, archive -> ShareArchive.part(archive, owners, rank));
    }

    @Override
    public void listen(Listener listener) {
        optimizer.listen(listener);
    }

    @Override
    public void stage(int parameter) {
        optimizer.stage(parameter);
    }

    @Override
    public void stageAll(List<Integer> staged) {
        optimizer.stageAll(staged);
    }

    @Override
    public void stageKept(List<Integer> staged) {
        optimizer.stageKept(staged);
    }

    @Override
    public boolean keepsUntilStaged() {
        return optimizer.keepsUntilStaged();
    }

    @Override
    public void requireInPlace() {
        optimizer.requireInPlace();
    }

    @Override
    public void multiplyAccumulated(double factor) {
        optimizer.multiplyAccumulated(factor);
    }

    @Override
    public void arrived() {
        optimizer.arrived();
    }

    @Override
    public Optional<io.hvd.tensor.Tensor> ownGradient(int parameter) {
        return optimizer.ownGradient(parameter);
    }

    @Override
    public void adopt() {
        optimizer.adopt();
    }

    @Override
    public boolean addsToLastStep() {
        return optimizer.addsToLastStep();
    }

    @Override
    public boolean hasNewGradient() {
        return optimizer.hasNewGradient();
    }

    @Override
    public int multiplyGradients(double factor) {
        return optimizer.multiplyGradients(factor);
    }

    @Override
    public int firstNonFinite() {
        return optimizer.firstNonFinite();
    }

    @Override
    public void clampGradients(double limit) {
        optimizer.clampGradients(limit);
    }

    @Override
    public double gradientNorm() {
        return optimizer.gradientNorm();
    }
}
