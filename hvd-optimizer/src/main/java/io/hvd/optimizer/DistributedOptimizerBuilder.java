package io.hvd.optimizer;

import io.hvd.AllreduceOptions;
import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.reduce.GradientReducer;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.DoubleConsumer;
import java.util.function.Predicate;

/** Settings of a {@link DistributedOptimizer}. All ranks must choose the same settings. */
public final class DistributedOptimizerBuilder {
    private final Optimizer inner;
    /** Null for the current context. */
    private HvdContext context;
    /** Null for all ranks of the context. */
    private ProcessSet set;

    private Compression compression = Compression.NONE;
    private ReduceOp op = ReduceOp.AVERAGE;
    private double predivide = 1.0;
    private int passesPerStep = 1;
    private LocalReduction localReduction = LocalReduction.SUM;
    private boolean weighted;
    private long bucketBytes;
    private int numGroups;
    private List<List<String>> groups = List.of();
    /** Null for none. */
    private Predicate<Parameter> alwaysFp32;
    /** Null for an allreduce. */
    private GradientReducer reducer;

    /** Null for a number. */
    private String scopeName;
    /** From {@link #build} on. */
    private OptimizerScope numbered;

    private String scope;
    private LocalParameters local = LocalParameters.NONE;
    private int compareEvery = -1;
    /** Null for none. */
    private RangeControl rangeControl;

    private boolean settingsMayDiffer;
    private Map<String, Tensor> buffers = Map.of();
    /** Null for never. */
    private BufferSync bufferSync;

    private GradientClip clip = GradientClip.NONE;

    /** Null for the setting. */
    private Boolean refuseNonFinite;

    DistributedOptimizerBuilder(Optimizer inner) {
        this.inner = Objects.requireNonNull(inner, "optimizer");
    }

    /**
     * Sets the job in which gradients are averaged; the default is the current context. Unless {@link #processSet}
     * names some of its ranks, all of them take part.
     */
    public DistributedOptimizerBuilder context(HvdContext job) {
        this.context = Objects.requireNonNull(job, "context");
        return this;
    }

    /**
     * Averages over some of the ranks. On the other ranks, {@link DistributedOptimizer#synchronize()} exchanges
     * nothing and {@link DistributedOptimizer#step()} uses the rank's own gradients. It may come before or after
     * {@link #context}, whose set it must then be.
     */
    public DistributedOptimizerBuilder processSet(ProcessSet ranks) {
        this.set = Objects.requireNonNull(ranks, "process set");
        return this;
    }

    /** Sets the type in which floating-point gradients travel. It has no effect with one rank. */
    public DistributedOptimizerBuilder compression(Compression kind) {
        this.compression = kind;
        return this;
    }

    /**
     * Has gradients that travel as float16 scaled into that format's range; for {@link Compression#FP16} and parameters in the host's memory. The
     * default is not to. It costs two passes over the gradients in every step.
     */
    public DistributedOptimizerBuilder rangeControl(RangeControl control) {
        this.rangeControl = Objects.requireNonNull(control, "range control");
        return this;
    }

    /**
     * Sets the operation that combines gradients, AVERAGE (the default) or SUM; or ADASUM, with which every rank steps by its own
     * gradients, and {@link Adasum} combines how far the parameters have moved. It wants parameters in the host's memory, a
     * number of ranks that is a power of two, and a learning rate that is not multiplied by that number.
     */
    public DistributedOptimizerBuilder op(ReduceOp reduceOp) {
        this.op = reduceOp;
        return this;
    }

    /**
     * Splits the division of an average: gradients are multiplied by 1/factor before the sum and by factor/size
     * after it. A factor equal to size avoids overflow in float16; a factor of 1 avoids underflow.
     */
    public DistributedOptimizerBuilder gradientPredivideFactor(double factor) {
        this.predivide = factor;
        return this;
    }

    /**
     * Sets the number of backward passes whose gradients this rank combines before they travel; the default is 1.
     */
    public DistributedOptimizerBuilder backwardPassesPerStep(int count) {
        OptimizerCheck.requirePasses(count);
        this.passesPerStep = count;
        return this;
    }

    /** Sets how the gradients of these passes are combined; the default is SUM. */
    public DistributedOptimizerBuilder localReduction(LocalReduction reduction) {
        this.localReduction = reduction;
        return this;
    }

    /**
     * Averages over the samples of all ranks instead of over the ranks, so that batches of different sizes count alike per
     * sample. Before each backward pass every rank calls {@link DistributedOptimizer#batchSize}; each gradient is that of a
     * mean over these samples. {@link #localReduction} then means nothing: passes count by their samples too.
     */
    public DistributedOptimizerBuilder weightByBatchSize() {
        this.weighted = true;
        return this;
    }

    /**
     * Sets the size in bytes of a group of gradients; the default is a quarter of all gradients, but at most 25
     * MiB.
     */
    public DistributedOptimizerBuilder bucketBytes(long bytes) {
        this.bucketBytes = bytes;
        return this;
    }

    /**
     * Divides the parameters, in their order, into so many groups of nearly the same number of parameters; the gradients of a
     * group travel together, when the last of them is ready. The default, 0, leaves it to {@link #bucketBytes}.
     */
    public DistributedOptimizerBuilder numGroups(int count) {
        this.numGroups = OptimizerCheck.requireGroups(count);
        return this;
    }

    /**
     * Names the parameters whose gradients travel together; those that no group names travel alone.
     *
     * @param names of the parameters of each group
     */
    public DistributedOptimizerBuilder groups(List<List<String>> names) {
        this.groups = names.stream().map(List::copyOf).toList();
        return this;
    }

    /**
     * Says which parameters' gradients travel in their own type, whatever {@link #compression} says, such as {@code
     * parameter -> parameter.value().shape().rank() < 2} for norms and biases.
     */
    public DistributedOptimizerBuilder allreduceAlwaysFp32(Predicate<Parameter> these) {
        this.alwaysFp32 = Objects.requireNonNull(these, "allreduceAlwaysFp32");
        return this;
    }

    /**
     * Sets what reduces gradients in place of an allreduce, such as {@code new PowerSgd(2)}. It is for gradients in the host's
     * memory and averages, each optimizer needs one of its own, and on one rank it is not called.
     */
    public DistributedOptimizerBuilder reducer(GradientReducer howToReduce) {
        this.reducer = Objects.requireNonNull(howToReduce, "reducer");
        return this;
    }

    /**
     * Sets a prefix of the gradients' names, which keeps the gradients of several optimizers apart. By default the prefix of
     * a process set's first optimizer is {@code gradient}, and further ones get a number; all ranks build them in one order,
     * which they compare in the first step. Optimizers whose parameters have the same names need a prefix each, unless their first
     * backward comes in one order on all ranks.
     */
    public DistributedOptimizerBuilder scope(String prefix) {
        this.scopeName = Objects.requireNonNull(prefix, "scope");
        return this;
    }

    /**
     * Names parameters that every rank keeps to itself, such as its part of an embedding: their gradients are not averaged,
     * and their values are neither broadcast nor compared. Their names, number and shapes may differ between the ranks. The
     * optimizer's state is each rank's own then, so {@code broadcastOptimizerState} and {@code join} of the optimizer are refused.
     * Their gradients are multiplied by 1/size, this rank's part of the average; see {@link #scaleLocalGradients}.
     */
    public DistributedOptimizerBuilder localParameters(Collection<String> names) {
        this.local = new LocalParameters(Set.copyOf(names), local == LocalParameters.NONE || local.scaled());
        return this;
    }

    /**
     * Sets whether the gradients of {@link #localParameters} are multiplied by this rank's part of the average; the default is that
     * they are. The factor is 1/size with {@link ReduceOp#SUM} too, as in Horovod; say {@code false} there if local gradients are
     * to be as large as the sums.
     */
    public DistributedOptimizerBuilder scaleLocalGradients(boolean scale) {
        this.local = new LocalParameters(local.names(), scale);
        return this;
    }

    /**
     * Sets the number of steps after which the ranks compare their parameters. If these differ, the step throws on
     * all ranks. The default is {@code HVD_DIVERGENCE_STEPS}; 0 means never.
     */
    public DistributedOptimizerBuilder compareParametersEvery(int steps) {
        if (steps < 0) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, "compareParametersEvery(" + steps + "): expected 0 or more");
        }
        this.compareEvery = steps;
        return this;
    }

    /**
     * Leaves out the comparison of the ranks' {@link Optimizer#settings} in the first step, for ranks that are to
     * train with different learning rates, for instance. Whether {@link #clipGradientNorm} is asked for must be the same all the
     * same, because the ranks exchange the norm.
     */
    public DistributedOptimizerBuilder settingsMayDiffer() {
        this.settingsMayDiffer = true;
        return this;
    }

    /**
     * Names the model's buffers, which a step changes without a gradient; of a LibTorch module they are {@code
     * TorchTensors.buffers(model)}. The ranks compare them together with the parameters, unless {@link #broadcastBuffers}
     * makes them the same.
     */
    public DistributedOptimizerBuilder buffers(Map<String, Tensor> byName) {
        this.buffers = Map.copyOf(byName);
        return this;
    }

    /**
     * Sets when and how the {@link #buffers} of all ranks become the same; the default is never. While a rank has joined, a
     * broadcast of buffers fails on all ranks, and so does their mean if a buffer is of integers. When {@code join()} is over, all
     * ranks count their steps from 0, whatever number each has made; the comparison of parameters does so too.
     */
    public DistributedOptimizerBuilder broadcastBuffers(BufferSync how) {
        this.bufferSync = Objects.requireNonNull(how, "buffer sync");
        return this;
    }

    /**
     * Scales the averaged gradients down before each step if the norm of all of them together is larger, as torch's {@code
     * clip_grad_norm_}. It takes one allreduce of 48 bytes per step, in which the ranks agree on the norm; of {@link #localParameters} it
     * contains the gradients of all ranks. With ADASUM, which averages none,
     * each rank scales its own. {@link DistributedOptimizer#lastGradientNorm} is the norm before.
     */
    public DistributedOptimizerBuilder clipGradientNorm(double max) {
        this.clip = clip.withNorm(max);
        return this;
    }

    /**
     * Brings every element of the averaged gradients into the range from -max to max before each step, as torch's {@code
     * clip_grad_value_}; before {@link #clipGradientNorm}, if there are both.
     */
    public DistributedOptimizerBuilder clipGradientValue(double max) {
        this.clip = clip.withValue(max);
        return this;
    }

    /**
     * Sets whether a step throws on all ranks, before any parameter is changed, if a gradient of any rank is infinite or NaN: the error names
     * the parameter, the ranks it comes from and the step. The default is {@code HVD_REFUSE_NON_FINITE}. It costs a pass over the averaged gradients, and for
     * optimizers on arrays another one before they travel. Beside a loss scale, where such gradients are normal and their step is
     * skipped, it throws only if they are found at a scale of 1 or less.
     */
    public DistributedOptimizerBuilder refuseNonFinite(boolean refuse) {
        this.refuseNonFinite = refuse;
        return this;
    }

    /** What the names of the optimizer's collectives begin with; from {@link #build} on. */
    String prefix() {
        return scope;
    }

    LocalParameters local() {
        return local;
    }

    GradientClip clip() {
        return clip;
    }

    Optimizer inner() {
        return inner;
    }

    /** A context says which job, a process set which of its ranks: the narrower one decides, in whatever order. */
    ProcessSet ranks() {
        if (set == null) {
            return context != null ? context : Hvd.context();
        }
        if (context != null && context.processSets().get(set.id()) != set) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "the optimizer got context(...) and processSet(...), but process set " + set.id() + " of ranks "
                            + set.ranks() + " is not one of that context, which has sets "
                            + new TreeSet<>(context.processSets().keySet())
                            + ". Leave context(...) out, or name a set of that context");
        }
        return set;
    }

    /** Those that all ranks have in common. */
    List<Parameter> shared(List<Parameter> parameters) {
        local.requireKnown(parameters);
        if (inner instanceof ShardedOptimizer) {
            OptimizerCheck.requireShared(local, "a ShardedOptimizer steps each parameter on one rank for all");
        }
        return local.shared(parameters);
    }

    /** Null without ADASUM, and on a rank that steps alone. */
    AdasumSteps adasum(ProcessSet ranks, List<Parameter> parameters) {
        if (op != ReduceOp.ADASUM) {
            return null;
        }
        OptimizerCheck.requirePlainAdasum(inner, predivide, compression, passesPerStep, localReduction, reducer);
        OptimizerCheck.requireNoGroupingWithAdasum(numGroups, groups, bucketBytes, alwaysFp32 != null);
        OptimizerCheck.requireShared(local, "ADASUM combines how far all parameters have moved");
        return ranks.included() ? new AdasumSteps(ranks, inner, parameters, scope) : null;
    }

    /** Whether gradients stay on this rank. */
    boolean exchangesNothing(ProcessSet ranks) {
        return !ranks.included()
                || op == ReduceOp.ADASUM
                || (ranks.size() == 1 && localReduction == LocalReduction.SUM && !weighted);
    }

    SettingsCheck settingsCheck(ProcessSet ranks) {
        List<String> shared = sharedNames();
        SettingsCheck check = new SettingsCheck(ranks, inner, numbered, shared, settings(shared));
        boolean stepsAlone = exchangesNothing(ranks) && (op != ReduceOp.ADASUM || !ranks.included());
        if (stepsAlone) {
            check.skip();
        } else if (settingsMayDiffer) {
            check.skipOptimizer();
        }
        return check;
    }

    /** What must not differ between the ranks, besides the optimizer's own settings. */
    private Map<String, String> settings(List<String> shared) {
        Map<String, String> all = new TreeMap<>();
        all.put(
                "parameters that are not local",
                shared.size() + " with names of checksum " + Long.toHexString(OptimizerScope.hash(shared)));
        all.put("local gradients", local == LocalParameters.NONE || local.scaled() ? "scaled" : "not scaled");
        all.put("sparse gradients", sparse().toString());
        all.put("average over", weighted ? "samples" : "ranks");
        all.putAll(clip.settings());
        all.put("gradients that are not finite", refusesNonFinite(ranks()) ? "refused" : "allowed");
        if (rangeControl != null) {
            all.put("range control", rangeControl.toString());
        }
        if (numGroups > 0 || !groups.isEmpty() || reducer != null) {
            all.put("groups of gradients", ParameterGroups.inWords(buckets(OptimizerCheck.named(inner.parameters()))));
        }
        if (reducer != null) {
            all.put("reducer", reducer.settings());
        }
        return all;
    }

    private List<String> sharedNames() {
        return local.shared(OptimizerCheck.named(inner.parameters())).stream()
                .map(Parameter::name)
                .toList();
    }

    private Set<String> sparse() {
        return new TreeSet<>(inner instanceof GradientSource source ? source.sparse() : Set.of());
    }

    /** Null where nothing is compressed. */
    WireRange range(ProcessSet ranks, List<Parameter> parameters) {
        if (rangeControl == null) {
            return null;
        }
        OptimizerCheck.requireFloat16(op, compression);
        return exchangesNothing(ranks) || ranks.size() == 1
                ? null
                : new WireRange(ranks, parameters, untouchedByRange(), rangeControl, 1 / predivide, scope);
    }

    private Predicate<Parameter> untouchedByRange() {
        Set<String> outside = outsideOfBuckets();
        return alwaysFp32().or(parameter -> outside.contains(parameter.name()));
    }

    GradientExchange exchange(ProcessSet ranks, List<Parameter> parameters, SettingsCheck check, WireRange range) {
        return new GradientExchange(
                reduction(ranks, parameters, range),
                parameters,
                buckets(parameters),
                range,
                passesPerStep,
                check,
                weights(ranks, parameters),
                local,
                new UnusedParameters(ranks, scope, local.shared(parameters)),
                exchangesNothing(ranks));
    }

    private Buckets buckets(List<Parameter> parameters) {
        OptimizerCheck.requireOneGrouping(numGroups, groups, bucketBytes);
        Set<String> outside = outsideOfBuckets();
        if (!groups.isEmpty()) {
            return new Buckets(ParameterGroups.named(parameters, groups), parameters, outside);
        }
        return numGroups > 0
                ? new Buckets(ParameterGroups.consecutive(parameters.size(), numGroups), parameters, outside)
                : new Buckets(parameters, bucketBytes, outside);
    }

    private Set<String> outsideOfBuckets() {
        Set<String> outside = new HashSet<>(sparse());
        OptimizerCheck.requireDistinct(local.names(), outside);
        outside.addAll(local.names());
        return outside;
    }

    /** Null if all ranks count alike. */
    private BatchWeights weights(ProcessSet ranks, List<Parameter> parameters) {
        if (!weighted) {
            return null;
        }
        OptimizerCheck.requireWeighable(op, predivide, parameters);
        return exchangesNothing(ranks) ? null : new BatchWeights(ranks, scope, accumulated(parameters));
    }

    private DoubleConsumer accumulated(List<Parameter> parameters) {
        DoubleConsumer multiply = inner instanceof GradientSource source
                ? source::multiplyAccumulated
                : new HostGradients(parameters)::multiplyGradients;
        return factor -> {
            if (factor == 0) {
                inner.zeroGradients();
            } else {
                multiply.accept(factor);
            }
        };
    }

    private GradientReduction reduction(ProcessSet ranks, List<Parameter> parameters, WireRange range) {
        Predicate<Parameter> ownType =
                range == null ? alwaysFp32() : alwaysFp32().or(range::isWide);
        if (op == ReduceOp.ADASUM) {
            return new GradientAllreduce(ranks, AllreduceOptions.average(), localReduction, ownType, scope);
        }
        if (weighted && reducer != null) {
            throw OptimizerCheck.weightsBesideReducer(reducer);
        }
        if (weighted) { // each rank's gradients are its part of the average
            Compression onWire = ranks.size() == 1 ? Compression.NONE : compression;
            AllreduceOptions sum = AllreduceOptions.sum().withCompression(onWire);
            return new GradientAllreduce(ranks, sum, LocalReduction.SUM, ownType, scope);
        }
        AllreduceOptions asked = OptimizerCheck.options(op, predivide, compression);
        if (reducer != null) {
            OptimizerCheck.requireReducible(reducer, parameters, asked, alwaysFp32 != null);
        }
        if (reducer != null && ranks.size() > 1) {
            return new ReducedGradients(ranks, reducer, localReduction, scope);
        }
        AllreduceOptions options = ranks.size() == 1 ? AllreduceOptions.of(op) : asked;
        return new GradientAllreduce(ranks, options, localReduction, ownType, scope);
    }

    private Predicate<Parameter> alwaysFp32() {
        return alwaysFp32 != null ? alwaysFp32 : parameter -> false;
    }

    ModelBuffers modelBuffers(ProcessSet ranks) {
        return new ModelBuffers(ranks, buffers, bufferSync, scope);
    }

    DivergenceGuard guard(ProcessSet ranks, List<Parameter> parameters, ModelBuffers modelBuffers) {
        int every = compareEvery < 0 ? ranks.divergenceSteps() : compareEvery;
        return new DivergenceGuard(ranks, local.shared(parameters), modelBuffers.toCompare(), every, scope);
    }

    private boolean refusesNonFinite(ProcessSet ranks) {
        return refuseNonFinite == null ? ranks.refusesNonFinite() : refuseNonFinite;
    }

    /** Null where steps by gradients that are not finite are made. */
    NonFiniteCheck finiteCheck(
            ProcessSet ranks, List<Parameter> parameters, GradientArithmetic arithmetic, OverflowVote vote) {
        if (!refusesNonFinite(ranks)) {
            return null;
        }
        boolean differ =
                op == ReduceOp.ADASUM || reducer != null || !local.names().isEmpty();
        boolean onHost = sparse().isEmpty()
                && parameters.stream().allMatch(each -> each.gradient().device().isCpu());
        GradientArithmetic looking = onHost ? new HostGradients(parameters) : arithmetic;
        return new NonFiniteCheck(ranks, parameters, looking, differ ? vote : null, scope);
    }

    OverflowVote vote(ProcessSet ranks) {
        return new OverflowVote(ranks, scope, op == ReduceOp.ADASUM && ranks.included());
    }

    /**
     * @throws HvdException if parameter names are missing or not distinct, or settings contradict each other, such
     *     as a context and a process set of another one
     */
    public DistributedOptimizer build() {
        numbered = scopeName == null ? OptimizerScope.numbered(ranks()) : OptimizerScope.named(scopeName);
        scope = numbered.prefix();
        return new DistributedOptimizer(this);
    }
}
