package io.hvd.optimizer.torch;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.GradientArithmetic;
import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.optimizer.torch.gradient.ExchangeStream;
import io.hvd.optimizer.torch.gradient.TorchGradients;
import io.hvd.optimizer.torch.gradient.TorchGradients.Sparse;
import io.hvd.optimizer.torch.graph.HookFailures;
import io.hvd.optimizer.torch.memory.TorchHalves;
import io.hvd.optimizer.torch.natives.BlasKernel;
import io.hvd.optimizer.torch.parameter.EqualGroups;
import io.hvd.optimizer.torch.parameter.GroupRates;
import io.hvd.optimizer.torch.parameter.NamedParameters;
import io.hvd.optimizer.torch.parameter.TorchSettings;
import io.hvd.optimizer.torch.state.MasterState;
import io.hvd.optimizer.torch.state.SavedState;
import io.hvd.optimizer.torch.state.TorchState;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LBFGS;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.StringTensorDict;
import org.bytedeco.pytorch.TensorVector;

/**
 * A LibTorch optimizer whose gradients announce themselves through hooks while backward runs.
 *
 * <p>Each gradient is averaged in a slot of ours and then becomes {@code parameter.grad()}, which stays
 * an alias of the slot until gradients are zeroed. LibTorch itself needs no change.
 *
 * <p>A parameter that a module has under several names is one, called by the first: it travels and is stepped once. LibTorch's {@code
 * parameters()} repeats it, and the repetition is taken out of the optimizer's parameter group.
 *
 * <p>A model may get one optimizer after the other: a gradient announces itself to the one that was wrapped last.
 * An earlier one that is used all the same averages in its step.
 */
public final class TorchOptimizer implements Optimizer, GradientSource, GradientArithmetic {
    private final org.bytedeco.pytorch.Optimizer inner;
    private final TorchGradients gradients;
    private final GroupRates rates;
    private final SavedState state;
    /** The settings that the ranks compare beside the options of the LibTorch optimizer. */
    private final Map<String, String> moreSettings;

    /**
     * @param namedParameters usually {@code module.named_parameters()}; names of parameters that {@code inner} does not step, because
     *     they are frozen or another optimizer's, are left out
     * @throws HvdException if {@code inner} steps a trainable parameter that has no name among them
     */
    public TorchOptimizer(org.bytedeco.pytorch.Optimizer inner, StringTensorDict namedParameters) {
        this(inner, namedParameters, false);
    }

    /**
     * Names the parameters by their parameter group and their place in it, such as {@code allreduce.noname.0.3}.
     */
    public TorchOptimizer(org.bytedeco.pytorch.Optimizer inner) {
        this(inner, NamedParameters.byPlace(inner));
    }

    /**
     * @param sparseAsDense true to let sparse gradients (of embeddings) travel as dense ones; otherwise they are refused
     */
    public TorchOptimizer(
            org.bytedeco.pytorch.Optimizer inner, StringTensorDict namedParameters, boolean sparseAsDense) {
        this(inner, namedParameters, sparseAsDense, ExchangeStream.onePerGpu());
    }

    /** @param exchange the stream on which a parameter's gradients are averaged; null for one on the CPU */
    TorchOptimizer(
            org.bytedeco.pytorch.Optimizer inner,
            StringTensorDict namedParameters,
            boolean sparseAsDense,
            Function<org.bytedeco.pytorch.Tensor, ExchangeStream> exchange) {
        this(inner, namedParameters, null, new Sparse(Set.of(), sparseAsDense), exchange);
    }

    /**
     * Steps float32 copies of the parameters of a 16-bit model, and rounds them into the model. A step uses its gradients up.
     *
     * @param inner made of {@link MasterWeights#parameters()}
     */
    public TorchOptimizer(org.bytedeco.pytorch.Optimizer inner, MasterWeights masters) {
        this(inner, masters.model().named_parameters(), masters, Sparse.REFUSED, ExchangeStream.onePerGpu());
    }

    /**
     * @param sparse names of the parameters whose gradients are sparse and travel as such, as those of an {@code EmbeddingImpl}
     *     with {@code sparse}: each rank gets the rows of all. The LibTorch optimizer must know what to do with them, as SGD and
     *     Adagrad do
     */
    public TorchOptimizer(
            org.bytedeco.pytorch.Optimizer inner, StringTensorDict namedParameters, Collection<String> sparse) {
        this(
                inner,
                namedParameters,
                null,
                new Sparse(NamedParameters.firstNames(namedParameters, Set.copyOf(sparse)), false),
                ExchangeStream.onePerGpu());
    }

    /** @param masters null if the model's own parameters are stepped */
    private TorchOptimizer(
            org.bytedeco.pytorch.Optimizer inner,
            StringTensorDict namedParameters,
            MasterWeights masters,
            Sparse sparse,
            Function<org.bytedeco.pytorch.Tensor, ExchangeStream> exchange) {
        this.inner = prepared(inner);
        NamedParameters named = NamedParameters.of(
                        namedParameters, value -> masters == null ? value : masters.of(value))
                .steppedBy(inner);
        named.requireSteppedOnce(inner);
        named.requireTrainable(namedParameters);
        named.requireKnown(sparse.asRows());
        this.gradients = new TorchGradients(named, sparse, masters != null, exchange);
        this.rates = new GroupRates(inner);
        EqualGroups.warn(inner);
        TorchState own = TorchState.of(inner, named, gradients.parameters());
        this.state = masters == null ? own : new MasterState(gradients.parameters(), own);
        this.moreSettings = masters == null ? Map.of() : masters.settings();
    }

    /** Refuses what ranks cannot share, and makes LibTorch ready for one that they can. */
    static org.bytedeco.pytorch.Optimizer prepared(org.bytedeco.pytorch.Optimizer inner) {
        if (inner instanceof LBFGS) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "LBFGS evaluates the loss several times within a step and keeps a line search of one rank: neither"
                            + " can be shared by ranks. Use SGD, Adam or another optimizer of one gradient per step");
        }
        TorchRuntime.shareCores();
        TorchHalves.install();
        BlasKernel.install();
        return inner.retainReference(); // which no scope of the program's may take away from the one around it
    }

    /**
     * Shares the state of a LibTorch optimizer out to the ranks; what is said of {@link ShardedOptimizer} applies.
     *
     * @param set the ranks that the {@code DistributedOptimizer} averages over
     * @param namedParameters usually {@code module.named_parameters()}; those without a gradient are left out
     * @param make makes the optimizer over this rank's share, which may be empty, in one parameter group, such as {@code share ->
     *     new Adam(share, new AdamOptions(0.001))}; an elastic job calls it in each generation
     */
    public static ShardedOptimizer sharded(
            ProcessSet set,
            StringTensorDict namedParameters,
            Function<TensorVector, org.bytedeco.pytorch.Optimizer> make) {
        return ShardedOptimizer.of(set, new ShardedTorch(namedParameters, make));
    }

    /**
     * Runs {@code loss.backward()}, and throws what hvd throws in it as itself. LibTorch's own method gives a {@link
     * RuntimeException} with the same text instead, because JavaCPP carries no more than the text through native code.
     *
     * @throws HvdException what a hook of a gradient, or a collective inside of the model, has thrown: with its
     *     identifier and type, the caller's stack, and the original as its cause; LibTorch's exception is suppressed
     */
    public static void backward(org.bytedeco.pytorch.Tensor loss) {
        try {
            loss.backward();
        } catch (RuntimeException e) {
            HvdException known = HookFailures.behind(e).orElseThrow(() -> e).seenHere();
            known.addSuppressed(e);
            throw known;
        }
    }

    /** Does the same for the loss times a factor, as a scaler or an {@code AmpOptimizer} gives it. */
    public static void backward(org.bytedeco.pytorch.Tensor loss, double scale) {
        try (PointerScope scope = new PointerScope()) {
            backward(loss.mul(new Scalar(scale)));
        }
    }

    @Override
    public List<Parameter> parameters() {
        return gradients.parameters();
    }

    @Override
    public void step() {
        gradients.bringToCopies();
        inner.step().close();
        state.stepped();
        gradients.overwritten();
    }

    /** Rounds master weights into the model. */
    @Override
    public void overwritten() {
        gradients.overwritten();
    }

    /** Forgets the gradients; LibTorch makes new ones in the next backward. */
    @Override
    public void zeroGradients() {
        gradients.arrived();
        gradients.forgetBesideCopies();
        inner.zero_grad(true);
    }

    @Override
    public double learningRate() {
        return rates.first();
    }

    /**
     * Sets the rate of the first parameter group; every other group keeps the ratio of its rate to the first one's.
     *
     * @throws HvdException if there is no such ratio, because the first group has the rate 0 and another one has not
     */
    @Override
    public void learningRate(double rate) {
        rates.set(rate);
    }

    /** The class of the LibTorch optimizer, and the options of each parameter group. */
    @Override
    public Map<String, String> settings() {
        Map<String, String> settings = TorchSettings.of(inner);
        settings.putAll(moreSettings);
        return settings;
    }

    /** The LibTorch optimizer, how many parameters it steps here, and its first group's learning rate. */
    @Override
    public String toString() {
        return "TorchOptimizer(" + inner.getClass().getSimpleName() + " of "
                + gradients.parameters().size() + " parameter(s), learning rate " + learningRate() + ")";
    }

    /** Optimizers with the same settings and the same past write the same bytes, in any process. */
    @Override
    public byte[] saveState() {
        return state.save();
    }

    @Override
    public void loadState(byte[] bytes) {
        gradients.arrived();
        state.load(bytes);
        gradients.overwritten();
    }

    /**
     * The tensors that LibTorch steps, under torch's names, and {@code step.NAME}; with {@link MasterWeights} {@code master.NAME} too. On
     * a GPU they are copies. The first call behind the first step takes as long as LibTorch needs to write and read them.
     */
    @Override
    public NamedState namedState() {
        return state.named();
    }

    @Override
    public void loadNamedState(NamedState named) {
        if (named.bytes().isPresent()) {
            loadState(named.bytes().get());
            return;
        }
        gradients.arrived();
        state.load(named);
        gradients.overwritten();
    }

    @Override
    public long fullStateBytes() {
        return state.fullBytes();
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
    public Set<String> sparse() {
        return gradients.sparse();
    }

    @Override
    public long exchangeSparse(ProcessSet set, String scope, double weight) {
        return gradients.exchangeSparse(set, scope, weight);
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
    public boolean hasNewGradient() {
        return gradients.hasNewGradient();
    }

    @Override
    public boolean addsToLastStep() {
        return gradients.addsToLastStep();
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
