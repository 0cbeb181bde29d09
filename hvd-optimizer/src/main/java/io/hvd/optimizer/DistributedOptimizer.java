package io.hvd.optimizer;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.agreement.SettingsCheck;
import io.hvd.optimizer.exchange.GradientExchange;
import io.hvd.optimizer.exchange.GradientsEvent;
import io.hvd.optimizer.exchange.GradientsRecording;
import io.hvd.optimizer.exchange.LocalParameters;
import io.hvd.optimizer.gradients.GradientClip;
import io.hvd.optimizer.gradients.HostGradients;
import io.hvd.optimizer.guard.DivergenceGuard;
import io.hvd.optimizer.guard.FiniteSteps;
import io.hvd.optimizer.precision.OverflowVote;
import io.hvd.optimizer.precision.WireRange;
import io.hvd.optimizer.step.AdasumSteps;
import io.hvd.optimizer.step.ModelBuffers;
import io.hvd.optimizer.step.OptimizerCheck;
import io.hvd.optimizer.step.StateBroadcast;
import io.hvd.optimizer.step.StepRules;
import io.hvd.tensor.JoinDivisor;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
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
public final class DistributedOptimizer implements Optimizer, AutoCloseable {
    private static final HvdLogger LOG = HvdLogger.of(DistributedOptimizer.class);

    private final Optimizer inner;
    /** Null if the wrapped optimizer does not announce its gradients. */
    private final GradientSource source;

    private final ProcessSet set;
    private final List<Parameter> parameters;
    /** The index of each parameter in {@link #parameters}, by its name. */
    private final Map<String, Integer> places = new HashMap<>();

    /** Null without range control. */
    private final WireRange range;

    private final GradientExchange exchange;
    private final StepRules rules;
    /** How gradients are combined, in words. */
    private final String combination;

    private final boolean alone;
    /** Null unless the operation is ADASUM. */
    private final AdasumSteps adasum;

    private final ModelBuffers buffers;
    private final DivergenceGuard guard;
    private final StateBroadcast broadcast;
    private final SettingsCheck settingsCheck;
    private final GradientArithmetic gradients;
    private final LocalParameters.Norms norms;
    private final Set<String> localParameters;
    private final OverflowVote vote;
    private final GradientClip clip;
    private final FiniteSteps finite;

    /** What scales the losses; null if nothing does, as far as is known. */
    private GradScaler scaler;
    /** Whether gradients of this step had left before the scaler was known. */
    private boolean learntLate;

    /** The class through which a program steps this optimizer; null for this one. */
    private String owner;

    private boolean synchronizedAlready;
    private boolean skipping;
    private boolean stepped;
    /** Whether the gradients of a rank that exchanges none have been put together since they were last cleared. */
    private boolean gathered;
    /** Whether the last step has thrown, so that the other ranks may be anywhere. */
    private boolean failed;

    private boolean closed;
    private long stepsMade;
    private double lastNorm = Double.NaN;
    /** Whether the next step is to know its norm although nothing limits it. */
    private boolean measuresNorm;

    private StepStats lastStep = new StepStats(0, 0, 0, 0);

    DistributedOptimizer(OptimizerParts parts) {
        this.inner = parts.inner();
        this.set = parts.ranks();
        this.parameters = OptimizerCheck.requireUsable(inner.parameters());
        for (int i = 0; i < parameters.size(); i++) {
            places.put(parameters.get(i).name(), i);
        }
        List<Parameter> shared = parts.shared(parameters);
        this.adasum = parts.adasum(set, parameters);
        this.alone = parts.exchangesNothing(set);
        if (inner instanceof ShardedOptimizer sharded) {
            sharded.scope(parts.prefix());
        }
        if (inner instanceof ArrayOptimizer arrays) {
            arrays.arrays().wrappedBy(this);
        }
        this.settingsCheck = parts.settingsCheck(set);
        this.range = parts.range(set, parameters);
        this.exchange = parts.exchange(set, parameters, settingsCheck, range);
        this.rules = new StepRules(inner, set, parameters, exchange);
        this.combination = parts.combination();
        this.buffers = parts.modelBuffers(set);
        this.guard = parts.guard(set, parameters, buffers);
        this.settingsCheck.compareParameters(this::parametersAtStart, guard::requireEqualAtStart);
        this.broadcast =
                new StateBroadcast(inner, this::consolidate, set, shared, parts.local(), buffers, exchange, rules);
        Object stepping = inner instanceof ShardedOptimizer sharded ? sharded.state() : inner;
        this.gradients = stepping instanceof GradientArithmetic own ? own : new HostGradients(parameters);
        this.norms = parts.local().norms(parameters, gradients);
        this.localParameters = parts.local().names();
        this.vote = parts.vote(set);
        this.clip = parts.clip();
        this.source = inner instanceof GradientSource announcing && !alone ? announcing : null;
        this.finite = new FiniteSteps(parts.finiteCheck(set, parameters, gradients, vote), settingsCheck);
        if (!(inner instanceof GradientSource)) {
            finite.watch(exchange);
        }
        if (source != null) {
            if (source.keepsUntilStaged()) {
                exchange.mayTravelLate();
            }
            source.listen(exchange);
        }
    }

    private void consolidate(int root) {
        if (inner instanceof ShardedOptimizer sharded) {
            sharded.consolidateIfNeeded(root);
        }
    }

    private long parametersAtStart() {
        return broadcast.isDone() ? 0 : guard.startHash();
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
        rules.requireOpen(closed);
        rules.requireOutsideOfNoSync();
        if (alone) {
            gatherOwn();
            finite.lookAlone(look);
            exchange.startOver();
            synchronizedAlready = true;
            return;
        }
        boolean again = synchronizedAlready;
        synchronizedAlready = false;
        GradientsEvent wait = GradientsRecording.begun();
        long backwardEnded = System.nanoTime();
        exchange.submitRest(source);
        lastStep = exchange.awaitAll(backwardEnded);
        GradientsRecording.ended(wait, set, lastStep);
        finite.look(look, source);
        if (source != null) {
            rules.warnIfNotCleared(stepped && !again && source.addsToLastStep());
            source.adopt();
        }
        exchange.endStep();
        synchronizedAlready = true;
    }

    /**
     * Puts the gradients where {@link #parameters()} promises them, so that a single rank can clip as several ranks do.
     */
    private void gatherOwn() {
        if (inner instanceof GradientSource own) {
            gathered = true;
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
        if (scaler != null) {
            scaler = null;
            exchange.lossScale(() -> 1);
        }
        stepNow();
    }

    /** How often this object has made a step; backward passes without one are not counted. */
    public long stepsMade() {
        return stepsMade;
    }

    private void stepNow() {
        rules.requireOpen(closed);
        rules.requireOneWrapper(
                !(inner instanceof ArrayOptimizer own) || own.arrays().areWrappedBy(this));
        stepsMade++;
        failed = true; // unless it comes to its end
        rules.requireOutsideOfNoSync();
        if (!skipping && alone && !synchronizedAlready) {
            requireBackwardAlone();
        }
        if (!skipping && !alone) {
            if (synchronizedAlready) {
                LOG.warn("step() after synchronize() reduces the gradients a second time; wrap the step in"
                        + " try (var skip = optimizer.skipSynchronize()) { optimizer.step(); }");
            } else {
                rules.requireBackward(source);
            }
            synchronize();
        }
        if (!stepped && inner instanceof ArrayOptimizer) {
            rules.warnIfAllZero();
        }
        if (adasum != null) {
            settingsCheck.begin(); // which the first gradients do otherwise
        }
        settingsCheck.end();
        warnIfNothingIsKnown();
        requireFinite();
        clip();
        stepInner();
        if (alone) {
            exchange.startOver();
        }
        synchronizedAlready = false;
        set.markStep();
        buffers.stepped();
        guard.stepped();
        failed = false;
    }

    /** LibTorch's gradients say so only until they have been gathered: then backward adds to them where they are. */
    private void requireBackwardAlone() {
        if (inner instanceof GradientSource own && set.included() && adasum == null && !gathered) {
            rules.requireBackward(own);
        }
    }

    /** With one rank nobody has looked, unless the program has called {@link #synchronize()}. */
    private void requireFinite() {
        if (alone && !skipping && finite.areRequired()) {
            gatherOwn();
            finite.lookAlone(true);
        }
        try {
            finite.require();
        } catch (HvdException e) {
            synchronizedAlready = false;
            throw e;
        }
    }

    private void clip() {
        boolean measures = measuresNorm;
        measuresNorm = false;
        if (clip.isNone() && !measures) {
            lastNorm = Double.NaN;
            return;
        }
        if (alone && !skipping) {
            gatherOwn();
        }
        lastNorm = clip.apply(gradients, this::agreedNorm, measures);
    }

    /**
     * Has the next {@link #step()} find the norm of its averaged gradients, for {@link #lastGradientNorm}, although nothing limits it:
     * it reads the gradients once more, and the ranks agree on the norm in an allreduce of 48 bytes. Where the norm is clipped, it is
     * known anyway. Every rank calls it before the same step.
     */
    public void measureGradientNorm() {
        measuresNorm = true;
    }

    /**
     * The norm of the last step's gradients, before {@link DistributedOptimizerBuilder#clipGradientNorm} has made it smaller; with
     * ADASUM of this rank's own. NaN if nothing limits it and {@link #measureGradientNorm} was not called for that step.
     */
    public double lastGradientNorm() {
        return lastNorm;
    }

    private void stepInner() {
        if (adasum == null) {
            inner.step();
            return;
        }
        GradientsEvent wait = GradientsRecording.begun();
        long start = System.nanoTime();
        adasum.step();
        broadcast.parametersOverwritten();
        long bytes = parameters.stream()
                .mapToLong(parameter -> parameter.value().bytes())
                .sum();
        lastStep = new StepStats(bytes, 0, bytes, System.nanoTime() - start);
        GradientsRecording.ended(wait, set, lastStep);
    }

    /** Where nothing says that the ranks start with the same parameters, they have compared them beside their settings. */
    private void warnIfNothingIsKnown() {
        if (!stepped && (!alone || adasum != null) && !broadcast.isDone()) {
            boolean known = guard.comparesAtStart() || set.forOptimizers().parametersBroadcast();
            if (!known && set.rank() == 0) {
                LOG.warn("the first step comes without broadcastParameters(): if the ranks did not start with the same"
                        + " parameters, they will train different models");
            }
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
        rules.requireSynchronized(synchronizedAlready || !set.included(), adasum != null);
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
        rules.requireOpen(closed);
        rules.requireNoSyncBeforeExchange();
        exchange.keepLocal(true);
        return () -> exchange.keepLocal(false);
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
        rules.requireFree(owner, wrapper);
        owner = wrapper;
        settingsCheck.compareToo(settings);
    }

    /** Losses are multiplied by this scale, until a {@link #step()} comes without one. */
    void scaledBy(GradScaler other) {
        if (scaler != other) {
            scaler = other;
            exchange.lossScale(other::scale);
            learntLate = !exchange.isBetweenSteps() || synchronizedAlready;
        }
    }

    /**
     * Averages the gradients, unless {@link #synchronize()} has done so since the last step.
     *
     * @param look whether gradients that are not finite are to be found, which a loss scale makes on purpose
     */
    void synchronizeOnce(boolean look) {
        if (!synchronizedAlready) {
            if (!alone) {
                rules.requireBackward(source);
            } else {
                requireBackwardAlone();
            }
            synchronize(look);
            if (adasum != null) {
                settingsCheck.begin(); // before the ranks vote
                settingsCheck.requireThatGradientsMeet();
            }
        }
        if (learntLate) {
            learntLate = false;
            exchange.stateLoaded(); // what a reducer has left out of this step's gradients contains the scale
        }
    }

    /** Steps after {@link #synchronizeOnce}. */
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
     * @param isNormal whether a loss scale explains why gradients are not finite
     * @throws HvdException in the first step on all ranks, if their optimizers differ in kind or settings; or if gradients are not
     *     finite, and no loss scale explains it
     */
    void skipStep(boolean isNormal) {
        settingsCheck.end();
        finite.skip(isNormal);
        synchronizedAlready = false;
        set.markStep();
    }

    GradientArithmetic gradients() {
        return gradients;
    }

    /**
     * Every rank comes here in the same step.
     *
     * @param overflow whether this rank has found a number that is not finite
     * @param scale by which this rank has multiplied its losses
     * @param withNorm whether the norm is to be known, too
     */
    OverflowVote.Verdict agree(boolean overflow, double scale, boolean withNorm) {
        return withNorm
                ? vote.agree(overflow, scale, norms.shared(), norms.localSquares())
                : vote.agree(overflow, scale, 0, 0);
    }

    /**
     * The norm of the averaged gradients and the local ones of all ranks, the same on all ranks to the last bit; with ADASUM that of
     * this rank's own. Every rank asks for it.
     */
    double agreedNorm() {
        return agree(false, 1, true).norm();
    }

    /** The optimizer in words, for messages. */
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
        gathered = false;
        finite.forget();
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
        if (set.included() && adasum == null) {
            exchange.passedHere(parameter);
        }
    }

    /**
     * Says how many samples the next backward pass is over, with {@link DistributedOptimizerBuilder#weightByBatchSize}; it
     * comes before each, on every rank. With 0 the rank may leave backward out.
     *
     * @throws HvdException if it comes more often than backward passes are planned before a step, or without that setting
     */
    public void batchSize(long samples) {
        if (set.included()) {
            exchange.batchSize(samples);
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
        broadcast.parameters(root);
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
        rules.requireNoOwnerToJoin(owner);
        return join(divisor, this);
    }

    /** @param whole this optimizer, or one around it with more state */
    int join(JoinDivisor divisor, Optimizer whole) {
        return broadcast.join(divisor, whole);
    }

    /**
     * Makes the buffers of all ranks the same, as {@link DistributedOptimizerBuilder#broadcastBuffers} has said. A collective: every rank calls it,
     * before one of them writes a checkpoint, for instance. It is not for a time in which a rank has joined.
     *
     * @throws HvdException if the builder got no {@link DistributedOptimizerBuilder#broadcastBuffers}, or, on all ranks, if they differ in the names,
     *     types or shapes of their buffers
     */
    public void synchronizeBuffers() {
        buffers.synchronize();
    }

    /** The names of {@link DistributedOptimizerBuilder#localParameters}; usually none. */
    public Set<String> localParameters() {
        return localParameters;
    }

    /**
     * Overwrites the optimizer state of every rank (momentum and other buffers, counters, learning rate) with the
     * root's. Of a {@link ShardedOptimizer} it first brings the whole state to the root, if the root does not have it.
     *
     * @throws HvdException with {@link DistributedOptimizerBuilder#localParameters}, whose state is each rank's own
     */
    public void broadcastOptimizerState(int root) {
        broadcastOptimizerState(root, this);
    }

    /** @param whole this optimizer, or one around it with more state */
    void broadcastOptimizerState(int root, Optimizer whole) {
        broadcast.optimizerState(root, whole);
    }

    /** What {@link DistributedOptimizerBuilder#rangeControl} has seen; all zeros without it. To be read between steps. */
    public RangeStats rangeStats() {
        if (range == null) {
            return RangeStats.NONE;
        }
        range.settle();
        return range.stats();
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

    /** Takes over the state. Gradients that are still being averaged, and what compression has left of earlier ones, are dropped. */
    @Override
    public void loadState(byte[] state) {
        exchange.drop(source);
        startOver();
        inner.loadState(state);
        exchange.stateLoaded();
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
                if (!failed) {
                    guard.ended();
                }
            } finally {
                giveBack();
            }
        }
    }

    private void giveBack() {
        if (inner instanceof ArrayOptimizer arrays) {
            arrays.arrays().releasedBy(this);
        }
        exchange.close();
        startOver();
        settingsCheck.startOver();
        vote.close();
    }

    /** What it wraps, how it combines gradients, on which rank, and how far it is. It asks no other rank, and may be called at any time. */
    @Override
    public String toString() {
        return "DistributedOptimizer(" + inWords() + ", " + combination + " " + rules.onThisRank() + ", learning rate "
                + learningRate() + ", " + stepsMade + " step(s) made" + (closed ? ", closed" : "") + ")";
    }
}
