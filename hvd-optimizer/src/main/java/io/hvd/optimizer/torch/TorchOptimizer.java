package io.hvd.optimizer.torch;

import io.hvd.ProcessSet;
import io.hvd.cuda.CudaDevice;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.GradientArithmetic;
import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.optimizer.StateOwner;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LBFGS;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.OptimizerParamGroupVector;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.StringTensorDict;
import org.bytedeco.pytorch.StringTensorDictItemVector;
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
    private final List<GradientSlot> slots = new ArrayList<>();
    private final List<Parameter> parameters = new ArrayList<>();
    /** The parameters by the identity of what the optimizer steps. */
    private final Map<Long, Parameter> stepped = new HashMap<>();

    private final List<GradientHook.Receiver> receivers = new ArrayList<>();
    private final boolean sparseAsDense;
    /** Names of the parameters whose gradients travel as rows. */
    private final Set<String> sparse;
    /** Null on a rank that exchanges nothing. */
    private Listener listener;
    /** Whether {@link #inner} steps only a share of the parameters, and other ranks step the others. */
    private final boolean share;
    /** The streams of the GPUs that parameters are on. */
    private final Set<ExchangeStream> exchanges = new HashSet<>();

    /** Null where the optimizer steps the model's own parameters. */
    private final MasterWeights masters;

    private final GroupRates rates;
    private final TorchState state;

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
        this(inner, namedByPlace(inner));
    }

    private static StringTensorDict namedByPlace(org.bytedeco.pytorch.Optimizer inner) {
        StringTensorDict names = new StringTensorDict();
        OptimizerParamGroupVector groups = inner.param_groups();
        for (long i = 0; i < groups.size(); i++) {
            TensorVector members = groups.get(i).params();
            for (long j = 0; j < members.size(); j++) {
                // A reference of its own, because the dictionary takes away the one that it is given.
                var member = new org.bytedeco.pytorch.Tensor(members.get(j));
                names.insert(new BytePointer("allreduce.noname." + i + "." + j), member);
            }
        }
        return names;
    }

    /**
     * @param sparseAsDense true to let sparse gradients (of embeddings) travel as dense ones; otherwise they are refused
     */
    public TorchOptimizer(
            org.bytedeco.pytorch.Optimizer inner, StringTensorDict namedParameters, boolean sparseAsDense) {
        this(inner, namedParameters, sparseAsDense, onePerGpu());
    }

    /** @param exchange the stream on which a parameter's gradients are averaged; null for one on the CPU */
    TorchOptimizer(
            org.bytedeco.pytorch.Optimizer inner,
            StringTensorDict namedParameters,
            boolean sparseAsDense,
            Function<org.bytedeco.pytorch.Tensor, ExchangeStream> exchange) {
        this(inner, namedParameters, null, sparseAsDense, exchange, false, Set.of());
    }

    /**
     * Steps float32 copies of the parameters of a 16-bit model, and rounds them into the model. A step uses its gradients up.
     *
     * @param inner made of {@link MasterWeights#parameters()}
     */
    public TorchOptimizer(org.bytedeco.pytorch.Optimizer inner, MasterWeights masters) {
        this(inner, masters.model().named_parameters(), masters, false, onePerGpu(), false, Set.of());
    }

    /**
     * @param sparse names of the parameters whose gradients are sparse and travel as such, as those of an {@code EmbeddingImpl}
     *     with {@code sparse}: each rank gets the rows of all. The LibTorch optimizer must know what to do with them, as SGD and
     *     Adagrad do
     */
    public TorchOptimizer(
            org.bytedeco.pytorch.Optimizer inner, StringTensorDict namedParameters, Collection<String> sparse) {
        this(inner, namedParameters, null, false, onePerGpu(), false, Set.copyOf(sparse));
    }

    private TorchOptimizer(
            org.bytedeco.pytorch.Optimizer inner,
            StringTensorDict namedParameters,
            MasterWeights masters,
            boolean sparseAsDense,
            Function<org.bytedeco.pytorch.Tensor, ExchangeStream> exchange,
            boolean share,
            Set<String> sparse) {
        if (inner instanceof LBFGS) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "LBFGS evaluates the loss several times within a step and keeps a line search of one rank: neither"
                            + " can be shared by ranks. Use SGD, Adam or another optimizer of one gradient per step");
        }
        TorchRuntime.shareCores();
        TorchHalves.install();
        this.inner = inner.retainReference(); // which no scope of the program's may take away from this one
        this.masters = masters;
        this.sparseAsDense = sparseAsDense;
        this.share = share;
        this.sparse = firstNames(namedParameters, sparse);
        Map<Long, String> trained = trained(inner);
        addSlots(namedParameters.items(), exchange, share ? null : trained.keySet());
        DistinctParameters.in(inner, this::nameOf);
        requireNamed(trained);
        requireTrainable(namedParameters);
        requireKnown(this.sparse);
        Reference.reachabilityFence(namedParameters); // which owns the items, and may be the program's last reference
        this.rates = new GroupRates(inner);
        EqualGroups.warn(inner);
        this.state = new TorchState(inner, parameters, numbered(), new StateArchive(inner, this::nameOf));
    }

    private String nameOf(org.bytedeco.pytorch.Tensor tensor) {
        return parameterOf(tensor).map(Parameter::name).orElse("a frozen parameter");
    }

    private Optional<Parameter> parameterOf(org.bytedeco.pytorch.Tensor tensor) {
        return Optional.ofNullable(stepped.get(DistinctParameters.identity(tensor)));
    }

    /** The parameters in the order in which LibTorch's archive numbers them; those of the whole, where this one steps a share. */
    private List<String> numbered() {
        if (share) {
            return parameters.stream().map(StateOwner::line).toList();
        }
        List<String> lines = new ArrayList<>();
        OptimizerParamGroupVector groups = inner.param_groups();
        for (long i = 0; i < groups.size(); i++) {
            if (i > 0) {
                lines.add("parameter group " + i);
            }
            TensorVector members = groups.get(i).params();
            for (long j = 0; j < members.size(); j++) {
                var member = members.get(j);
                lines.add(parameterOf(member)
                        .map(StateOwner::line)
                        .orElseGet(() -> "frozen " + member.scalar_type().intern() + TorchTensors.shape(member)));
            }
        }
        return lines;
    }

    /** With gradients of all parameters, of which the optimizer steps some. */
    static TorchOptimizer ofShare(org.bytedeco.pytorch.Optimizer inner, StringTensorDict namedParameters) {
        return new TorchOptimizer(inner, namedParameters, null, false, onePerGpu(), true, Set.of());
    }

    /**
     * Shares the state of a LibTorch optimizer out to the ranks; what is said of {@link ShardedOptimizer} applies.
     *
     * @param set the ranks that the {@code DistributedOptimizer} averages over
     * @param namedParameters usually {@code module.named_parameters()}; those without a gradient are left out
     * @param make makes the optimizer over this rank's share, which may be empty, in one parameter group, such as {@code share ->
     *     new Adam(share, new AdamOptions(0.001))}
     */
    public static ShardedOptimizer sharded(
            ProcessSet set,
            StringTensorDict namedParameters,
            Function<TensorVector, org.bytedeco.pytorch.Optimizer> make) {
        return ShardedOptimizer.of(set, ShardedTorch.of(set, namedParameters, make));
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

    /** @param trained the identities of what the optimizer steps; null if all gradients travel, whichever rank steps them */
    private void addSlots(
            StringTensorDictItemVector items,
            Function<org.bytedeco.pytorch.Tensor, ExchangeStream> exchange,
            Set<Long> trained) {
        Set<Long> known = new HashSet<>();
        for (long i = 0; i < items.size(); i++) {
            // A reference of our own: the one in the dictionary goes when the caller's dictionary does.
            var value = new org.bytedeco.pytorch.Tensor(items.get(i).access());
            // A parameter that several modules share travels once, under its first name.
            if (value.requires_grad() && known.add(DistinctParameters.identity(value))) {
                String name = items.get(i).key().getString();
                var master = masters == null ? value : masters.of(value);
                if (trained != null && !trained.contains(DistinctParameters.identity(master))) {
                    continue; // another optimizer steps it, or none
                }
                GradientSlot slot = new GradientSlot(name, value, master, exchange.apply(value), sparse.contains(name));
                slots.add(slot);
                slot.exchange().ifPresent(exchanges::add);
                var parameter = new Parameter(name, TorchTensors.alias(name, master), slot.alias());
                parameters.add(parameter);
                stepped.put(DistinctParameters.identity(master), parameter);
            }
        }
    }

    /** A parameter that several modules share may be meant by any of its names. */
    private static Set<String> firstNames(StringTensorDict named, Set<String> names) {
        Map<Long, String> firsts = new HashMap<>();
        Set<String> found = new HashSet<>();
        StringTensorDictItemVector items = named.items();
        for (long i = 0; i < items.size() && !names.isEmpty(); i++) {
            String name = items.get(i).key().getString();
            String first = firsts.computeIfAbsent(
                    DistinctParameters.identity(items.get(i).access()), identity -> name);
            if (names.contains(name)) {
                found.add(first);
            }
        }
        names.stream().filter(name -> !named.contains(name)).forEach(found::add); // which are refused later
        return Set.copyOf(found);
    }

    private void requireKnown(Set<String> names) {
        Set<String> unknown = new TreeSet<>(names);
        slots.forEach(slot -> unknown.remove(slot.name()));
        if (!unknown.isEmpty()) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "the parameters " + unknown
                            + " are said to have sparse gradients, and there are none of these names"
                            + " among the " + slots.size() + " that are trained, \""
                            + slots.get(0).name()
                            + "\" the first");
        }
    }

    private void requireTrainable(StringTensorDict named) {
        if (slots.isEmpty()) {
            long count = named.size();
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "the module has no parameter that needs a gradient and is stepped by this optimizer, so there is nothing to train: "
                            + (count == 0
                                    ? "it has none at all"
                                    : "all " + count + " are frozen or not in the optimizer, \""
                                            + named.items().get(0).key().getString() + "\" the first")
                            + ". Expected at least one with requires_grad");
        }
    }

    private static Function<org.bytedeco.pytorch.Tensor, ExchangeStream> onePerGpu() {
        Map<Byte, ExchangeStream> made = new HashMap<>();
        return value -> value.is_cuda()
                ? made.computeIfAbsent(
                        value.device().index(),
                        gpu -> new ExchangeStream(CudaDevice.open(gpu), TorchStreams.current(gpu)))
                : null;
    }

    /** Every parameter that the optimizer steps must have a name, or its gradient would never be averaged. */
    private void requireNamed(Map<Long, String> trained) {
        Map<Long, String> unnamed = new LinkedHashMap<>(trained);
        slots.forEach(slot -> unnamed.remove(DistinctParameters.identity(slot.master())));
        if (!unnamed.isEmpty()) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "the optimizer steps " + trained.size()
                            + " trainable parameters, and the names given are missing for "
                            + unnamed.size() + " of them, whose gradients would never be averaged: " + unnamed.values()
                            + ". Expected the named_parameters() of everything that it steps");
        }
    }

    /** The trainable parameters that an optimizer steps, by their identity, with their places in words. */
    private static Map<Long, String> trained(org.bytedeco.pytorch.Optimizer optimizer) {
        Map<Long, String> all = new LinkedHashMap<>();
        OptimizerParamGroupVector groups = optimizer.param_groups();
        for (long i = 0; i < groups.size(); i++) {
            TensorVector members = groups.get(i).params();
            for (long j = 0; j < members.size(); j++) {
                var member = members.get(j);
                if (member.requires_grad()) {
                    all.putIfAbsent(
                            DistinctParameters.identity(member),
                            "number " + j + " of group " + i + " with shape " + TorchTensors.shape(member));
                }
            }
        }
        return all;
    }

    @Override
    public List<Parameter> parameters() {
        return parameters;
    }

    @Override
    public void step() {
        if (masters != null) {
            slots.forEach(GradientSlot::bringToMaster);
        }
        inner.step().close();
        state.stepped();
        overwritten();
    }

    /** Rounds master weights into the model. */
    @Override
    public void overwritten() {
        if (masters != null) {
            slots.forEach(GradientSlot::writeBack);
        }
    }

    /** Forgets the gradients; LibTorch makes new ones in the next backward. */
    @Override
    public void zeroGradients() {
        giveBack();
        if (share || masters != null) {
            slots.forEach(GradientSlot::forget);
        }
        if (!share) {
            inner.zero_grad(true);
        }
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
        if (masters != null) {
            settings.put("master weights of a model in", masters.type().intern().toString());
        }
        return settings;
    }

    /** The LibTorch optimizer, how many parameters it steps here, and its first group's learning rate. */
    @Override
    public String toString() {
        return "TorchOptimizer(" + inner.getClass().getSimpleName() + " of " + parameters.size()
                + " parameter(s), learning rate " + learningRate() + ")";
    }

    /** Optimizers with the same settings and the same past write the same bytes, in any process. */
    @Override
    public byte[] saveState() {
        return masters == null ? state.save() : MasterState.join(parameters, state.save());
    }

    @Override
    public void loadState(byte[] bytes) {
        loadState(bytes, UnaryOperator.identity());
    }

    /** @param part takes from the whole archive that of the share that this optimizer steps */
    void loadState(byte[] bytes, UnaryOperator<byte[]> part) {
        giveBack();
        if (masters == null) {
            state.load(bytes, part);
            return;
        }
        state.load(MasterState.optimizers(parameters, bytes), part);
        MasterState.load(parameters, bytes);
        overwritten();
    }

    /** A state with this archive for all parameters. */
    byte[] stateWith(byte[] archive) {
        return state.headed(archive);
    }

    @Override
    public void listen(Listener newListener) {
        listener = newListener;
        receivers.clear();
        for (int i = 0; i < slots.size(); i++) {
            var receiver = new GradientHook.Receiver(slots.get(i), i, listener, sparseAsDense);
            receivers.add(receiver);
            GradientHook.tell(receiver);
        }
    }

    @Override
    public void stage(int parameter) {
        stageAll(List.of(parameter));
    }

    @Override
    public void stageAll(List<Integer> staged) {
        stage(staged, false);
    }

    @Override
    public void stageKept(List<Integer> staged) {
        stage(staged, true);
    }

    private void stage(List<Integer> staged, boolean kept) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            for (int i = 0; i < staged.size(); i++) {
                int parameter = staged.get(i);
                double weight = listener == null ? 1 : listener.weight(parameter);
                if (kept) {
                    slots.get(parameter).stageKept(weight, sparseAsDense);
                } else {
                    slots.get(parameter).stage(weight);
                }
            }
        }
    }

    /**
     * On a GPU gradients travel while it computes. Where there are float32 copies, LibTorch would add up several passes in 16 bits.
     */
    @Override
    public boolean keepsUntilStaged() {
        return exchanges.isEmpty() && masters == null;
    }

    @Override
    public Set<String> sparse() {
        return sparse;
    }

    @Override
    public long exchangeSparse(ProcessSet set, String scope, double weight) {
        PlainCollectives ranks = new PlainCollectives(set);
        try (PointerScope pointers = new PointerScope()) {
            return slots.stream()
                    .filter(GradientSlot::isSparse)
                    .mapToLong(slot -> slot.gatherRows(ranks, scope + slot.name() + ".rows", weight))
                    .sum();
        }
    }

    @Override
    public void requireInPlace() {
        try (PointerScope scope = new PointerScope()) {
            slots.forEach(GradientSlot::requireInPlace);
        }
    }

    @Override
    public void multiplyAccumulated(double factor) {
        try (PointerScope scope = new PointerScope()) {
            slots.forEach(slot -> slot.multiplyAccumulated(factor));
        }
    }

    @Override
    public void arrived() {
        giveBack();
    }

    @Override
    public Optional<io.hvd.tensor.Tensor> ownGradient(int parameter) {
        return slots.get(parameter).ownGradient();
    }

    @Override
    public void adopt() {
        giveBack();
        try (PointerScope scope = new PointerScope()) {
            slots.forEach(GradientSlot::becomeGradient);
        }
    }

    @Override
    public boolean hasNewGradient() {
        try (PointerScope scope = new PointerScope()) {
            return slots.stream().anyMatch(GradientSlot::hasNewGradient);
        }
    }

    @Override
    public boolean addsToLastStep() {
        return slots.stream().anyMatch(GradientSlot::addsToLastStep);
    }

    @Override
    public int multiplyGradients(double factor) {
        return SlotArithmetic.multiply(slots, factor);
    }

    @Override
    public int firstNonFinite() {
        return SlotArithmetic.firstNonFinite(slots);
    }

    @Override
    public void clampGradients(double limit) {
        SlotArithmetic.clamp(slots, limit);
    }

    @Override
    public double gradientNorm() {
        return SlotArithmetic.norm(slots);
    }

    /** A slot must not be touched on LibTorch's stream while its average is still being written on the other. */
    private void giveBack() {
        exchanges.forEach(ExchangeStream::giveBack);
    }
}
