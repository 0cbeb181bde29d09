package io.hvd.optimizer;

import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.gradients.HostGradients;
import io.hvd.optimizer.precision.OverflowVote;
import io.hvd.optimizer.step.Binding;
import io.hvd.optimizer.step.LastingParts;
import io.hvd.optimizer.step.OptimizerCheck;
import io.hvd.optimizer.step.OptimizerChoices;
import io.hvd.optimizer.step.OptimizerParts;
import io.hvd.optimizer.step.StepProgress;
import io.hvd.optimizer.step.StepStage;
import io.hvd.tensor.JoinDivisor;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Averages the gradients of all ranks before every step of the optimizer that it wraps.
 *
 * <p>If the wrapped optimizer is a {@link GradientSource}, the allreduce of a group of gradients starts as soon as
 * backward has computed them, and runs beside the rest of backward. Otherwise all allreduces start in
 * {@link #synchronize()}. The gradients of a CPU also wait for {@link #synchronize()} once the steps repeat, if all ranks are on one host with
 * less than two cores for each ({@link ProcessSet.ForOptimizers#stepsTravelLate}), because no core is free then to run allreduces beside backward. On a
 * rank outside its process set it behaves as the wrapped optimizer; with one rank too, but calls in an order that several ranks are
 * refused it refuses as well, as far as it sees them.
 *
 * <p>Unless {@link #broadcastParameters} comes first, the ranks compare their parameters before the first step; and so they do at {@link
 * #close}. {@link DistributedOptimizerBuilder#compareParametersEvery} with 0 leaves both out.
 *
 * <p>A program must not change gradients between backward and {@link #synchronize()} or {@link #step()}: whether the change counts depends on when
 * they travel. After {@link #synchronize()} they are the averages, which it may change.
 *
 * <p>Only one thread at a time may use it; backward may run on another thread.
 *
 * <pre>{@code
 * var optimizer = DistributedOptimizer.wrap(new TorchOptimizer(adam, model.named_parameters())).build();
 * optimizer.broadcastParameters(0);
 * for (Batch batch : loader) {
 *     optimizer.zeroGradients();
 *     loss(model, batch).backward();
 *     optimizer.step();
 * }
 * }</pre>
 */
public final class DistributedOptimizer implements AveragingOptimizer, AutoCloseable {
    private final OptimizerChoices choices;
    private final WrappedOptimizer wrapped;
    private final Optimizer inner;
    private final List<Parameter> parameters;
    /** The index of each parameter in {@link #parameters}, by its name. */
    private final Map<String, Integer> places = new HashMap<>();

    /** How gradients are combined, in words. */
    private final String combination;

    private final LastingParts lasting;
    private final StepProgress progress = new StepProgress();
    private final OuterOptimizer outer = new OuterOptimizer();
    /** The ranks of this generation, and what belongs to them. */
    private Binding bound;
    /** The work of a step in this generation. */
    private StepStage[] stages;

    private boolean closed;

    DistributedOptimizer(OptimizerChoices choices) {
        this.choices = choices;
        this.inner = choices.inner;
        this.wrapped = WrappedOptimizer.of(inner);
        this.parameters = OptimizerCheck.requireUsable(inner.parameters());
        for (int i = 0; i < parameters.size(); i++) {
            places.put(parameters.get(i).name(), i);
        }
        this.lasting = lasting();
        OptimizerParts parts = new OptimizerParts(choices);
        this.combination = parts.combination();
        this.bound = parts.bind(lasting, 0);
        wrapped.wrappedBy(this);
        begin(parts);
    }

    private LastingParts lasting() {
        GradientArithmetic arithmetic =
                wrapped.stepping() instanceof GradientArithmetic own ? own : new HostGradients(parameters);
        return new LastingParts(parameters, arithmetic, wrapped::hasWhole, wrapped.isOnArrays(), progress);
    }

    private void begin(OptimizerParts parts) {
        stages = parts.stages(bound, lasting);
        wrapped.scope(parts.prefix());
        bound.begin();
    }

    /**
     * Goes on in another context, after {@code Hvd.shutdown()} and a new {@code Hvd.init()}: with the same parameters, inner optimizer,
     * state, hooks and settings. Every rank calls it, those of a new process build an optimizer instead; in the first step all ranks compare
     * settings and parameters as after a build. Of a process set the new context must have one of the same ranks. Range control and what
     * happens every so many steps begin anew.
     *
     * <pre>{@code
     * Hvd.shutdown();
     * optimizer.rebind(Hvd.init());
     * }</pre>
     *
     * @throws HvdException if the context is closed, its job has failed or it is the one that the optimizer has; between backward and
     *     {@link #step()}, inside {@link #noSync()} or after {@link #close}; or if the shares of a {@link ShardedOptimizer} do not
     *     fit its ranks. Nothing is changed then
     */
    public void rebind(HvdContext next) {
        bound.rules().requireOpen(closed);
        bound.rules().requireMayRebind(next, progress.isSynchronized());
        ProcessSet ranks = OptimizerCheck.sameRanks(choices.set, next);
        wrapped.rebind(ranks); // refuses before anything has changed
        OptimizerParts parts = new OptimizerParts(choices.over(ranks));
        Binding before = bound;
        bound = parts.bind(lasting, before.finite().steps());
        before.giveBack();
        bound.exchange().passesPerStep(before.exchange().passesPerStep());
        outer.rebind(bound);
        progress.rebound();
        begin(parts);
    }

    /**
     * Begins to wrap an optimizer; unless the builder is told otherwise, gradients are averaged in the current context.
     *
     * <pre>{@code
     * var optimizer = DistributedOptimizer.wrap(new Sgd(parameters, 0.1))
     *         .compression(Compression.FP16)
     *         .clipGradientNorm(1)
     *         .build();
     * }</pre>
     */
    public static DistributedOptimizerBuilder wrap(Optimizer inner) {
        return new DistributedOptimizerBuilder(inner);
    }

    @Override
    public List<Parameter> parameters() {
        return parameters;
    }

    /**
     * Waits until every gradient is the average over the ranks. Call it before the step only to read or change averaged
     * gradients; see {@link #skipSynchronize()}. The builder's {@code clipGradientNorm} clips them without it.
     *
     * @throws HvdException if an allreduce has failed
     */
    public void synchronize() {
        synchronize(true);
    }

    /** @param look whether gradients that are not finite are to be found */
    private void synchronize(boolean look) {
        bound.rules().requireOpen(closed);
        bound.rules().requireOutsideOfNoSync();
        bound.gradients().synchronize(look);
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
        bound.rules().requireNoOwner(outer.owner());
        outer.notScaled(bound.exchange());
        stepNow();
    }

    @Override
    public long stepsMade() {
        return progress.made();
    }

    private void stepNow() {
        bound.rules().requireOpen(closed);
        bound.rules().requireOneWrapper(wrapped.isWrappedBy(this));
        progress.begin();
        bound.rules().requireOutsideOfNoSync();
        for (StepStage stage : stages) {
            stage.run();
        }
        progress.ended();
    }

    /**
     * Has the next {@link #step()} find the norm of its averaged gradients, for {@link #lastGradientNorm}, although nothing limits it:
     * it reads the gradients once more, and the ranks agree on the norm in an allreduce of 48 bytes. Where the norm is clipped, it is
     * known anyway. Every rank calls it before the same step.
     */
    public void measureGradientNorm() {
        progress.measureNorm();
    }

    /**
     * The norm of the last step's gradients, before {@link DistributedOptimizerBuilder#clipGradientNorm} has made it smaller; with
     * ADASUM of this rank's own. NaN if nothing limits it and {@link #measureGradientNorm} was not called for that step.
     */
    public double lastGradientNorm() {
        return progress.lastNorm();
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
        bound.rules()
                .requireSynchronized(progress.isSynchronized() || !bound.set().included(), bound.combinesMoves());
        progress.setSkipping(true);
        return () -> progress.setSkipping(false);
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
        bound.rules().requireOpen(closed);
        bound.rules().requireNoSyncBeforeExchange();
        bound.exchange().keepLocal(true);
        return () -> bound.exchange().keepLocal(false);
    }

    /** Ends the effect of {@link #noSync()}. */
    public interface NoSync extends AutoCloseable {
        @Override
        void close();
    }

    /**
     * From now on {@link #step()} is refused, and this class steps by {@link #stepAsTheyAre()}.
     *
     * @param settings of the wrapper, which the ranks compare in the first step
     * @throws HvdException if a wrapper has called it before
     */
    void onlyThrough(String wrapper, Supplier<Map<String, String>> settings) {
        bound.rules().requireFree(outer.owner(), wrapper);
        outer.owns(wrapper, settings, bound.settingsCheck());
    }

    /** Losses are multiplied by this scale, until a {@link #step()} comes without one. */
    void scaledBy(GradScaler other) {
        outer.scaledBy(other, bound.exchange(), progress.isSynchronized());
    }

    /**
     * Averages the gradients, unless {@link #synchronize()} has done so since the last step.
     *
     * @param look whether gradients that are not finite are to be found, which a loss scale makes on purpose
     */
    void synchronizeOnce(boolean look) {
        if (!progress.isSynchronized()) {
            bound.gradients().requireBackward();
            synchronize(look);
            if (bound.combinesMoves()) {
                bound.settingsCheck().begin(); // before the ranks vote
                bound.settingsCheck().requireThatGradientsMeet();
            }
        }
        outer.averaged(bound.exchange());
    }

    /** Steps after {@link #synchronizeOnce}. */
    void stepAsTheyAre() {
        boolean before = progress.isSkipping();
        progress.setSkipping(true);
        try {
            stepNow();
        } finally {
            progress.setSkipping(before);
        }
    }

    /**
     * Ends a step that changes nothing.
     *
     * @param isNormal whether a loss scale explains why gradients are not finite
     * @throws HvdException in the first step on all ranks, if their optimizers differ in kind or settings; or if gradients are not
     *     finite, and no loss scale explains it
     */
    void skipStep(boolean isNormal) {
        bound.settingsCheck().end();
        bound.finite().skip(isNormal);
        progress.setSynchronized(false);
        bound.set().markStep();
    }

    GradientArithmetic gradients() {
        return lasting.arithmetic();
    }

    /**
     * Every rank comes here in the same step.
     *
     * @param overflow whether this rank has found a number that is not finite
     * @param scale by which this rank has multiplied its losses
     * @param withNorm whether the norm is to be known, too
     */
    OverflowVote.Verdict agree(boolean overflow, double scale, boolean withNorm) {
        return bound.vote().agree(overflow, scale, withNorm);
    }

    /**
     * The norm of the averaged gradients and the local ones of all ranks, the same on all ranks to the last bit; with ADASUM that of
     * this rank's own. Every rank asks for it.
     */
    double agreedNorm() {
        return bound.vote().norm();
    }

    /** The optimizer in words, for messages. */
    String inWords() {
        return bound.rules().inWords();
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
        bound.rules().requireNothingInFlight();
        startOver();
        inner.zeroGradients();
    }

    private void startOver() {
        progress.startOver();
        bound.finite().forget();
        bound.exchange().startOver();
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
        if (bound.set().included() && !bound.combinesMoves()) {
            bound.exchange().passedHere(parameter);
        }
    }

    /**
     * Says how many samples the next backward pass is over, with {@link DistributedOptimizerBuilder#weightByBatchSize}; it
     * comes before each, on every rank. With 0 the rank may leave backward out.
     *
     * @throws HvdException if it comes more often than backward passes are planned before a step, or without that setting
     */
    public void batchSize(long samples) {
        if (bound.set().included()) {
            bound.exchange().batchSize(samples);
        }
    }

    /**
     * Sets the number of local backward passes before each step.
     *
     * @throws HvdException if it is called between backward and step, or with ADASUM, which counts no passes, unless the number is 1
     */
    public void backwardPassesPerStep(int count) {
        bound.rules().requirePassesMayChange(count, bound.combinesMoves());
        bound.exchange().passesPerStep(count);
    }

    /**
     * Overwrites the parameters of every rank with those of the root.
     *
     * @param root global rank of the root
     * @throws HvdException if the ranks differ in the number, names, types or shapes of their parameters
     */
    public void broadcastParameters(int root) {
        bound.replicas().broadcast().parameters(root);
    }

    /**
     * Tells the other ranks that this rank has no more data, waits until all ranks have called it, and gives all ranks the
     * parameters, the buffers and the optimizer's state of the rank that was last. Meanwhile the others step without this one.
     *
     * @param divisor as in {@link ProcessSet#join(JoinDivisor)}; with weights by batch size the average is over the samples
     *     that there are, whichever it is
     * @return the global rank that was last
     * @throws HvdException if an {@link AmpOptimizer} wraps this one, whose join gives all ranks the scaler's state too; or with
     *     {@link DistributedOptimizerBuilder#localParameters}, whose state is this rank's own. Nothing has been sent then
     */
    public int join(JoinDivisor divisor) {
        bound.rules().requireNoOwnerToJoin(outer.owner());
        return join(divisor, this);
    }

    /** @param whole this optimizer, or one around it with more state */
    int join(JoinDivisor divisor, Optimizer whole) {
        return bound.replicas().broadcast().join(divisor, whole);
    }

    /**
     * Makes the buffers of all ranks the same, as {@link DistributedOptimizerBuilder#broadcastBuffers} has said. A collective: every rank calls it,
     * before one of them writes a checkpoint, for instance. It is not for a time in which a rank has joined.
     *
     * @throws HvdException if the builder got no {@link DistributedOptimizerBuilder#broadcastBuffers}, or, on all ranks, if they differ in the names,
     *     types or shapes of their buffers
     */
    public void synchronizeBuffers() {
        bound.replicas().buffers().synchronize();
    }

    /**
     * The shares of a {@link ShardedOptimizer}, for the state of an elastic job, which says from now on when a step counts; empty with any
     * other optimizer.
     */
    public Optional<ElasticShares> elasticShares() {
        return inner instanceof ShardedOptimizer sharded ? Optional.of(new ElasticShares(sharded)) : Optional.empty();
    }

    /** Whether it is a {@link ShardedOptimizer} whose state several ranks have shares of. */
    public boolean sharesState() {
        return inner instanceof ShardedOptimizer sharded && sharded.dealing().ranks() > 1;
    }

    /** Whether the operation is ADASUM, with which the inner optimizer steps before the ranks exchange anything. */
    public boolean isAdasum() {
        return bound.combinesMoves();
    }

    /** The names of {@link DistributedOptimizerBuilder#localParameters}; usually none. */
    public Set<String> localParameters() {
        return choices.local.names();
    }

    /**
     * Overwrites the optimizer state of every rank (momentum and other buffers, counters, learning rate) with the
     * root's. Where a {@link ShardedOptimizer}'s root has no whole state, as after {@link #loadState}, each rank keeps its share, which no
     * other one has, and gets the root's learning rate.
     *
     * @throws HvdException with {@link DistributedOptimizerBuilder#localParameters}, whose state is each rank's own
     */
    public void broadcastOptimizerState(int root) {
        broadcastOptimizerState(root, this);
    }

    /** @param whole this optimizer, or one around it with more state */
    void broadcastOptimizerState(int root, Optimizer whole) {
        bound.replicas().broadcast().optimizerState(root, whole);
    }

    /** The observations of {@link DistributedOptimizerBuilder#rangeControl}; all zeros without it. To be read between steps. */
    public RangeStats rangeStats() {
        if (bound.range() == null) {
            return RangeStats.NONE;
        }
        bound.range().settle();
        return bound.range().stats();
    }

    /** Figures about the communication of the last step. */
    public StepStats lastStep() {
        return progress.last();
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

    /** Takes over the state. Gradients that are still being averaged, and what compression has left of earlier ones, are dropped. */
    @Override
    public void loadState(byte[] state) {
        bound.gradients().drop();
        startOver();
        inner.loadState(state);
        bound.exchange().stateLoaded();
    }

    @Override
    public NamedState namedState() {
        return inner.namedState();
    }

    @Override
    public NamedState wholeState() {
        return inner.wholeState();
    }

    /** Takes over the state, as {@link #loadState} does. */
    @Override
    public void loadNamedState(NamedState state) {
        bound.gradients().drop();
        startOver();
        inner.loadNamedState(state);
        bound.exchange().stateLoaded();
    }

    @Override
    public boolean keepsStateOf(String parameter) {
        return inner.keepsStateOf(parameter);
    }

    @Override
    public long fullStateBytes() {
        return inner.fullStateBytes();
    }

    /**
     * Waits for gradients that are being averaged, and gives back what their exchange keeps, for programs that make one optimizer
     * after another in one context. Parameters, gradients and state stay as they are; a step or {@link #synchronize()} is refused from
     * now on. Every rank calls it after the same step. The optimizer's number is not given to another one.
     *
     * @throws HvdException if the ranks' parameters differ; it is closed then, too. A rank that has failed, and so closes alone, waits
     *     two seconds for the others
     */
    @Override
    public void close() {
        if (!closed) {
            closed = true;
            try {
                if (!progress.hasFailed()) {
                    bound.replicas().guard().ended();
                }
            } finally {
                giveBack();
            }
        }
    }

    private void giveBack() {
        wrapped.releasedBy(this);
        bound.giveBack();
        startOver();
    }

    /** Says what it wraps, how it combines gradients, on which rank, and how far it is. It asks no other rank, and may be called at any time. */
    @Override
    public String toString() {
        return "DistributedOptimizer(" + inWords() + ", " + combination + " "
                + bound.rules().onThisRank() + ", learning rate " + learningRate() + ", " + progress.made()
                + " step(s) made"
                + (closed ? ", closed" : "") + ")";
    }
}
