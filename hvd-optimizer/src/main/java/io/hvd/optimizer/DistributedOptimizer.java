package io.hvd.optimizer;

import io.hvd.AllreduceOptions;
import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Averages the gradients of all ranks before every step of the optimizer that it wraps.
 *
 * <p>If the wrapped optimizer is a {@link GradientSource}, the allreduce of a group of gradients starts as soon as
 * backward has computed them, and runs beside the rest of backward. Otherwise all allreduces start in
 * {@link #synchronize()}. With one rank, or on a rank outside its process set, it behaves as the wrapped optimizer.
 *
 * <p>Only one thread at a time may use it; backward may run on another thread.
 */
public final class DistributedOptimizer implements Optimizer {
    private static final Logger LOG = LoggerFactory.getLogger(DistributedOptimizer.class);

    private final Optimizer inner;
    /** Null if the wrapped optimizer does not announce its gradients. */
    private final GradientSource source;

    private final ProcessSet set;
    private final List<Parameter> parameters;
    /** The index of each parameter in {@link #parameters}, by its name. */
    private final Map<String, Integer> places = new HashMap<>();

    private final GradientExchange exchange;
    private final StepRules rules;
    private final boolean alone;
    /** Null if gradients are combined, and not what came of them. */
    private final AdasumSteps adasum;

    private final ModelBuffers buffers;
    private final DivergenceGuard guard;
    private final SettingsCheck settingsCheck;
    private final GradientArithmetic gradients;
    private final OverflowVote vote;
    /** The class through which a program steps this optimizer; null for this one. */
    private String owner;

    private boolean synchronizedAlready;
    private boolean skipping;
    private boolean stepped;
    private StepStats lastStep = new StepStats(0, 0, 0);

    private DistributedOptimizer(Builder builder) {
        this.inner = builder.inner;
        this.set = builder.ranks();
        this.parameters = OptimizerCheck.requireUsable(inner.parameters());
        for (int i = 0; i < parameters.size(); i++) {
            places.put(parameters.get(i).name(), i);
        }
        this.adasum = builder.adasum(set, parameters);
        this.alone =
                !set.included() || adasum != null || (set.size() == 1 && builder.localReduction == LocalReduction.SUM);
        this.settingsCheck = new SettingsCheck(set, inner, builder.scope);
        if (builder.settingsMayDiffer || (alone && adasum == null)) {
            settingsCheck.skip();
        }
        this.exchange = new GradientExchange(
                builder.allreduce(set),
                parameters,
                new Buckets(parameters, builder.bucketBytes),
                builder.passesPerStep,
                settingsCheck,
                alone);
        this.rules = new StepRules(inner, set, parameters, exchange);
        int compareEvery = builder.compareEvery < 0 ? set.divergenceSteps() : builder.compareEvery;
        this.buffers = new ModelBuffers(set, builder.buffers, builder.bufferSync, builder.scope);
        this.guard = new DivergenceGuard(set, parameters, buffers.toCompare(), compareEvery, builder.scope);
        Object stepping = inner instanceof ShardedOptimizer sharded ? sharded.state() : inner;
        this.gradients = stepping instanceof GradientArithmetic own ? own : new HostGradients(parameters);
        this.vote = new OverflowVote(set, builder.scope, adasum != null);
        this.source = inner instanceof GradientSource announcing && !alone ? announcing : null;
        if (source != null) {
            source.listen(exchange);
        }
    }

    /**
     * Begins to wrap an optimizer; unless the builder is told otherwise, gradients are averaged in the current context.
     */
    public static Builder wrap(Optimizer inner) {
        return new Builder(inner);
    }

    @Override
    public List<Parameter> parameters() {
        return parameters;
    }

    /**
     * Waits until every gradient is the average over the ranks. Call it before the step only to read or change averaged
     * gradients, for instance to clip them; see {@link #skipSynchronize()}.
     *
     * @throws HvdException if an allreduce has failed
     */
    public void synchronize() {
        rules.requireOutsideOfNoSync();
        if (alone) {
            gatherOwn();
            return;
        }
        synchronizedAlready = false;
        long backwardEnded = System.nanoTime();
        exchange.submitRest(source != null ? source::stage : parameter -> {});
        lastStep = exchange.awaitAll(backwardEnded);
        if (source != null) {
            source.adopt();
        }
        exchange.startOver();
        synchronizedAlready = true;
    }

    /**
     * Puts the gradients where {@link #parameters()} promises them, so that a single rank can clip as several ranks do.
     */
    private void gatherOwn() {
        if (inner instanceof GradientSource own) {
            for (int i = 0; i < parameters.size(); i++) {
                own.stage(i);
            }
            own.adopt();
        }
    }

    /**
     * Averages the gradients, unless {@link #skipSynchronize()} is in effect, and steps the wrapped optimizer.
     *
     * @throws HvdException if there was no backward since the last step, as far as the wrapped optimizer is a
     *     {@link GradientSource} and so can tell, and there are several ranks; nothing has then been sent. Or, in the
     *     first step, if the ranks' optimizers differ in kind or settings; no parameter has then been changed. Or if an
     *     {@link AmpOptimizer} wraps this one
     */
    @Override
    public void step() {
        rules.requireNoOwner(owner);
        stepNow();
    }

    private void stepNow() {
        rules.requireOutsideOfNoSync();
        if (!skipping && !alone) {
            if (synchronizedAlready) {
                LOG.warn("step() after synchronize() reduces the gradients a second time; wrap the step in"
                        + " try (var skip = optimizer.skipSynchronize()) { optimizer.step(); }");
            } else {
                rules.requireBackward(source);
            }
            synchronize();
        }
        warnIfNeverBroadcast();
        if (adasum != null) {
            settingsCheck.begin(); // which the first gradients do otherwise
        }
        settingsCheck.end();
        stepInner();
        synchronizedAlready = false;
        set.markStep();
        buffers.stepped();
        guard.stepped();
    }

    private void stepInner() {
        if (adasum == null) {
            inner.step();
            return;
        }
        long start = System.nanoTime();
        adasum.step();
        long bytes = parameters.stream()
                .mapToLong(parameter -> parameter.value().bytes())
                .sum();
        lastStep = new StepStats(bytes, 0, System.nanoTime() - start);
    }

    private void warnIfNeverBroadcast() {
        if (!stepped && (!alone || adasum != null) && !set.parametersBroadcast() && set.rank() == 0) {
            LOG.warn("the first step comes without broadcastParameters(): if the ranks did not start with the same"
                    + " parameters, they will train different models");
        }
        stepped = true;
    }

    /**
     * Has {@link #step()} use the gradients as {@link #synchronize()} left them, until the returned object is closed.
     *
     * <pre>{@code
     * optimizer.synchronize();
     * clip(optimizer.parameters());
     * try (var skip = optimizer.skipSynchronize()) {
     *     optimizer.step();
     * }
     * }</pre>
     *
     * @throws HvdException if {@link #synchronize()} has not been called since the last step, or with ADASUM
     */
    public SkipSynchronize skipSynchronize() {
        rules.requireSynchronized(synchronizedAlready || alone, adasum != null);
        skipping = true;
        return () -> skipping = false;
    }

    /**
     * Keeps gradients on this rank until the returned object is closed: backward passes add to them and exchange
     * nothing, as with torch's {@code no_sync()}. The next backward pass outside of it exchanges the sum. Unlike {@link
     * #backwardPassesPerStep(int)}, it leaves the number of passes to the program, and the ranks may differ in it.
     *
     * <pre>{@code
     * optimizer.zeroGradients();
     * try (var local = optimizer.noSync()) {
     *     loss(first).backward();
     * }
     * loss(second).backward();
     * optimizer.step();
     * }</pre>
     *
     * @throws HvdException if gradients of this step are being averaged already, or inside another such scope
     */
    public NoSync noSync() {
        rules.requireNoSyncBeforeExchange();
        exchange.keepLocal(true);
        return () -> exchange.keepLocal(false);
    }

    /** Ends the effect of {@link #noSync()}. */
    public interface NoSync extends AutoCloseable {
        @Override
        void close();
    }

    /** From now on {@link #step()} is refused, and this class steps by {@link #stepAsTheyAre()}. */
    void onlyThrough(String wrapper) {
        owner = wrapper;
    }

    /** Averages the gradients, unless {@link #synchronize()} has done so since the last step. */
    void synchronizeOnce() {
        if (!synchronizedAlready) {
            if (!alone) {
                rules.requireBackward(source);
            }
            synchronize();
        }
    }

    /** Steps after {@link #synchronizeOnce()}. */
    void stepAsTheyAre() {
        boolean before = skipping;
        skipping = true;
        try {
            stepNow();
        } finally {
            skipping = before;
        }
    }

    /**
     * Ends a step that changes nothing.
     *
     * @throws HvdException in the first step on all ranks, if their optimizers differ in kind or settings
     */
    void skipStep() {
        settingsCheck.end();
        synchronizedAlready = false;
        set.markStep();
    }

    GradientArithmetic gradients() {
        return gradients;
    }

    OverflowVote vote() {
        return vote;
    }

    /**
     * The norm of the averaged gradients, the same on all ranks to the last bit; with ADASUM that of this rank's own. Every rank asks
     * for it.
     */
    double agreedNorm() {
        return vote.agree(false, 1, gradients.gradientNorm()).norm();
    }

    /** For messages. */
    String inWords() {
        return rules.inWords();
    }

    /** Ends the effect of {@link #skipSynchronize()}. */
    public interface SkipSynchronize extends AutoCloseable {
        @Override
        void close();
    }

    /**
     * Clears the gradients and forgets the backward passes that led to them.
     *
     * @throws HvdException between backward and step, while gradients are being averaged
     */
    @Override
    public void zeroGradients() {
        rules.requireNothingInFlight();
        startOver();
        inner.zeroGradients();
    }

    private void startOver() {
        synchronizedAlready = false;
        exchange.startOver();
    }

    /**
     * Says that the gradient of a parameter is complete and in its array, so that its allreduce may start. Only a
     * trainer with its own backward calls it; with LibTorch, a hook of each gradient does the same.
     *
     * @param name name of the parameter
     * @throws HvdException if there is no such parameter
     */
    public void gradientReady(String name) {
        Integer place = places.get(name);
        if (place == null) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, "gradientReady(\"" + name + "\"): there is no such parameter");
        }
        gradientReady(place);
    }

    /**
     * Does the same as {@link #gradientReady(String)}, without looking up a name.
     *
     * @param parameter index of the parameter in {@link #parameters()}
     */
    public void gradientReady(int parameter) {
        Objects.checkIndex(parameter, parameters.size());
        if (!alone && exchange.passed(parameter)) {
            exchange.ready(parameter);
        }
    }

    /**
     * Sets the number of local backward passes before each step.
     *
     * @throws HvdException if it is called between backward and step, or with ADASUM, which counts no passes, unless the number is 1
     */
    public void backwardPassesPerStep(int count) {
        rules.requirePassesMayChange(count, adasum != null);
        exchange.passesPerStep(count);
    }

    /**
     * Overwrites the parameters of every rank with those of the root.
     *
     * @param root global rank of the root
     * @throws HvdException if the ranks differ in the number, names, types or shapes of their parameters
     */
    public void broadcastParameters(int root) {
        Map<String, Tensor> values = new LinkedHashMap<>();
        parameters.stream().filter(this::travels).forEach(parameter -> values.put(parameter.name(), parameter.value()));
        set.broadcastParameters(values, root);
    }

    /** A single rank need not broadcast its parameters; on a GPU, its back end might not even be able to. */
    private boolean travels(Parameter parameter) {
        return set.size() > 1 || parameter.value().device().isCpu();
    }

    /**
     * Makes the buffers of all ranks the same, as {@link Builder#broadcastBuffers} has said. A collective: every rank calls it,
     * before one of them writes a checkpoint, for instance. It is not for a time in which a rank has joined.
     *
     * @throws HvdException if the builder got no {@link Builder#broadcastBuffers}, or, on all ranks, if they differ in the names,
     *     types or shapes of their buffers
     */
    public void synchronizeBuffers() {
        buffers.synchronize();
    }

    /**
     * Overwrites the optimizer state of every rank (momentum and other buffers, counters, learning rate) with the
     * root's. Of a {@link ShardedOptimizer} it first brings the whole state to the root, if the root does not have it.
     */
    public void broadcastOptimizerState(int root) {
        broadcastOptimizerState(root, this);
    }

    /** @param whole this optimizer, or one around it with more state */
    void broadcastOptimizerState(int root, Optimizer whole) {
        if (inner instanceof ShardedOptimizer sharded) {
            sharded.consolidateIfNeeded(root);
        }
        boolean isRoot = set.ranks().get(set.rank()) == root;
        byte[] mine = isRoot ? whole.saveState() : null;
        byte[] state = set.broadcastObject("broadcast_optimizer_state", mine, ObjectCodec.bytes(), root);
        if (!isRoot) {
            whole.loadState(state);
        }
    }

    /** Figures about the communication of the last step. */
    public StepStats lastStep() {
        return lastStep;
    }

    @Override
    public double learningRate() {
        return inner.learningRate();
    }

    @Override
    public void learningRate(double rate) {
        inner.learningRate(rate);
    }

    @Override
    public Map<String, String> settings() {
        return inner.settings();
    }

    @Override
    public byte[] saveState() {
        return inner.saveState();
    }

    /** Takes over the state. Gradients that are still being averaged are waited for and dropped. */
    @Override
    public void loadState(byte[] state) {
        exchange.awaitAll(System.nanoTime());
        startOver();
        inner.loadState(state);
    }

    /** Settings of a {@link DistributedOptimizer}. All ranks must choose the same settings. */
    public static final class Builder {
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
        private long bucketBytes;
        private String scope = "gradient.";
        private int compareEvery = -1;
        private boolean settingsMayDiffer;
        private Map<String, Tensor> buffers = Map.of();
        /** Null for never. */
        private BufferSync bufferSync;

        private Builder(Optimizer inner) {
            this.inner = Objects.requireNonNull(inner, "optimizer");
        }

        /**
         * Sets the job in which gradients are averaged; the default is the current context. Unless {@link #processSet}
         * names some of its ranks, all of them take part.
         */
        public Builder context(HvdContext job) {
            this.context = Objects.requireNonNull(job, "context");
            return this;
        }

        /**
         * Averages over some of the ranks. On the other ranks, {@link DistributedOptimizer#synchronize()} exchanges
         * nothing and {@link DistributedOptimizer#step()} uses the rank's own gradients. It may come before or after
         * {@link #context}, whose set it must then be.
         */
        public Builder processSet(ProcessSet ranks) {
            this.set = Objects.requireNonNull(ranks, "process set");
            return this;
        }

        /** Sets the type in which floating-point gradients travel. It has no effect with one rank. */
        public Builder compression(Compression kind) {
            this.compression = kind;
            return this;
        }

        /**
         * Sets the operation that combines gradients, AVERAGE (the default) or SUM; or ADASUM, with which every rank steps by its own
         * gradients, and {@link Adasum} combines how far the parameters have moved. It wants parameters in the host's memory, a
         * number of ranks that is a power of two, and a learning rate that is not multiplied by that number.
         */
        public Builder op(ReduceOp reduceOp) {
            this.op = reduceOp;
            return this;
        }

        /**
         * Splits the division of an average: gradients are multiplied by 1/factor before the sum and by factor/size
         * after it. A factor equal to size avoids overflow in float16; a factor of 1 avoids underflow.
         */
        public Builder gradientPredivideFactor(double factor) {
            this.predivide = factor;
            return this;
        }

        /**
         * Sets the number of backward passes whose gradients this rank combines before they travel; the default is 1.
         */
        public Builder backwardPassesPerStep(int count) {
            OptimizerCheck.requirePasses(count);
            this.passesPerStep = count;
            return this;
        }

        /** Sets how the gradients of these passes are combined; the default is SUM. */
        public Builder localReduction(LocalReduction reduction) {
            this.localReduction = reduction;
            return this;
        }

        /**
         * Sets the size in bytes of a group of gradients; the default is a quarter of all gradients, but at most 25
         * MiB.
         */
        public Builder bucketBytes(long bytes) {
            this.bucketBytes = bytes;
            return this;
        }

        /** Sets a prefix of the gradients' names, which keeps the gradients of several optimizers apart. */
        public Builder scope(String prefix) {
            this.scope = prefix + ".";
            return this;
        }

        /**
         * Sets the number of steps after which the ranks compare their parameters. If these differ, the step throws on
         * all ranks. The default is {@code HVD_DIVERGENCE_STEPS}; 0 means never.
         */
        public Builder compareParametersEvery(int steps) {
            if (steps < 0) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT, "compareParametersEvery(" + steps + "): expected 0 or more");
            }
            this.compareEvery = steps;
            return this;
        }

        /**
         * Leaves out the comparison of the ranks' {@link Optimizer#settings} in the first step, for ranks that are to
         * train with different learning rates, for instance.
         */
        public Builder settingsMayDiffer() {
            this.settingsMayDiffer = true;
            return this;
        }

        /**
         * Names the model's buffers, which a step changes without a gradient; of a LibTorch module they are {@code
         * TorchTensors.buffers(model)}. The ranks compare them together with the parameters, unless {@link #broadcastBuffers}
         * makes them the same.
         */
        public Builder buffers(Map<String, Tensor> byName) {
            this.buffers = Map.copyOf(byName);
            return this;
        }

        /**
         * Sets when and how the {@link #buffers} of all ranks become the same; the default is never. While a rank has joined, a
         * broadcast of buffers fails on all ranks, and so does their mean if a buffer is of integers. When {@code join()} is over, all
         * ranks count their steps from 0, whatever number each has made; the comparison of parameters does so too.
         */
        public Builder broadcastBuffers(BufferSync how) {
            this.bufferSync = Objects.requireNonNull(how, "buffer sync");
            return this;
        }

        /** A context says which job, a process set which of its ranks: the narrower one decides, in whatever order. */
        private ProcessSet ranks() {
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

        /** Null without ADASUM, and on a rank that steps alone. */
        private AdasumSteps adasum(ProcessSet ranks, List<Parameter> parameters) {
            if (op != ReduceOp.ADASUM) {
                return null;
            }
            OptimizerCheck.requirePlainAdasum(inner, predivide, compression, passesPerStep, localReduction);
            return ranks.included() ? new AdasumSteps(ranks, inner, parameters, scope) : null;
        }

        private GradientAllreduce allreduce(ProcessSet ranks) {
            if (op == ReduceOp.ADASUM) {
                return new GradientAllreduce(ranks, AllreduceOptions.average(), localReduction, scope);
            }
            AllreduceOptions asked = OptimizerCheck.options(op, predivide, compression);
            return new GradientAllreduce(
                    ranks, ranks.size() == 1 ? AllreduceOptions.of(op) : asked, localReduction, scope);
        }

        /**
         * @throws HvdException if parameter names are missing or not distinct, or settings contradict each other, such
         *     as a context and a process set of another one
         */
        public DistributedOptimizer build() {
            return new DistributedOptimizer(this);
        }
    }
}
