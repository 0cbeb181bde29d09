package io.hvd.optimizer.torch;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.GradientArithmetic;
import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.optimizer.ShardedShare;
import io.hvd.optimizer.ShardedState;
import io.hvd.optimizer.torch.gradient.ExchangeStream;
import io.hvd.optimizer.torch.gradient.TorchGradients;
import io.hvd.optimizer.torch.gradient.TorchGradients.Sparse;
import io.hvd.optimizer.torch.memory.SharedStorage;
import io.hvd.optimizer.torch.parameter.NamedParameters;
import io.hvd.optimizer.torch.parameter.NamedParameters.Named;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.StringTensorDict;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/** The parameters of a LibTorch model, each of which is stepped on one rank. The gradients of all are collected and averaged on every rank. */
final class ShardedTorch implements ShardedState, GradientSource, GradientArithmetic {
    private final NamedParameters named;
    private final List<Tensor> trainable;
    private final TorchGradients gradients;
    private final Function<TensorVector, Optimizer> make;

    ShardedTorch(StringTensorDict given, Function<TensorVector, Optimizer> make) {
        this.named = NamedParameters.of(given, value -> value);
        named.requireTrainable(given);
        this.trainable = named.all().stream().map(Named::value).toList();
        this.gradients = new TorchGradients(named, Sparse.REFUSED, false, ExchangeStream.onePerGpu());
        this.make = make;
    }

    @Override
    public ShardedShare deal(int[] owners, int rank) {
        TensorVector share = new TensorVector();
        for (int i = 0; i < owners.length; i++) {
            if (owners[i] == rank) {
                share.push_back(trainable.get(i));
            }
        }
        Optimizer inner = make.apply(share);
        requireOneGroup(inner, share.size());
        named.requireSteppedOnce(inner);
        return new TorchShare(inner, named, gradients);
    }

    /** Parameters in the same memory are stepped on one rank: another rank's values would overwrite this one's step. */
    @Override
    public int[] owners(int ranks) {
        int[] firsts = SharedStorage.firsts(trainable);
        long[] bytes = new long[firsts.length];
        for (int i = 0; i < firsts.length; i++) {
            bytes[firsts[i]] += trainable.get(i).nbytes();
        }
        int[] owners = ShardedOptimizer.owners(ranks, bytes);
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

    @Override
    public List<Parameter> parameters() {
        return gradients.parameters();
    }

    @Override
    public void zeroGradients() {
        gradients.arrived();
        gradients.forget();
    }

    @Override
    public void listen(Listener listener) {
        gradients.listen(listener);
    }

    @Override
    public void stage(int parameter) {
        gradients.stage(parameter);
    }

    @Override
    public void stageAll(List<Integer> staged) {
        gradients.stageAll(staged);
    }

    @Override
    public void stageKept(List<Integer> staged) {
        gradients.stageKept(staged);
    }

    @Override
    public boolean keepsUntilStaged() {
        return gradients.keepsUntilStaged();
    }

    @Override
    public void requireInPlace() {
        gradients.requireInPlace();
    }

    @Override
    public void multiplyAccumulated(double factor) {
        gradients.multiplyAccumulated(factor);
    }

    @Override
    public void arrived() {
        gradients.arrived();
    }

    @Override
    public Optional<io.hvd.tensor.Tensor> ownGradient(int parameter) {
        return gradients.ownGradient(parameter);
    }

    @Override
    public void adopt() {
        gradients.adopt();
    }

    @Override
    public boolean addsToLastStep() {
        return gradients.addsToLastStep();
    }

    @Override
    public boolean hasNewGradient() {
        return gradients.hasNewGradient();
    }

    @Override
    public int multiplyGradients(double factor) {
        return gradients.multiplyGradients(factor);
    }

    @Override
    public int firstNonFinite() {
        return gradients.firstNonFinite();
    }

    @Override
    public void clampGradients(double limit) {
        gradients.clampGradients(limit);
    }

    @Override
    public double gradientNorm() {
        return gradients.gradientNorm();
    }
}
