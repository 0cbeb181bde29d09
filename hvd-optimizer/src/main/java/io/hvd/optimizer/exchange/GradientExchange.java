package io.hvd.optimizer.exchange;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.LocalReduction;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.StepStats;
import io.hvd.optimizer.agreement.SettingsCheck;
import io.hvd.optimizer.gradients.HostGradients;
import io.hvd.optimizer.precision.WireRange;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.function.DoubleSupplier;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * The way of one optimizer's gradients from backward to the step: counts the backward passes, sends a bucket off
 * when its last gradient is ready, and waits for all of them.
 *
 * <p>Backward may run on another thread than the step, but not at the same time.
 */
public final class GradientExchange implements GradientSource.Listener {
    /** The usual causes of gradients that are missing, or that come too often. */
    public static final String USUAL_CAUSES =
            " Usual causes: the loss of another model ran through these parameters; step() was called"
                    + " on some ranks only; or the optimizer inside of this one was stepped directly";

    private final GradientReduction reduction;
    private final List<Parameter> parameters;
    /** What {@link #buckets} is to be in the next step. */
    private final Supplier<Buckets> grouping;

    private Buckets buckets;
    /** Null without range control. */
    private final WireRange range;

    private final int[] passes;
    /** By bucket, the number of gradients that are not ready. */
    private int[] missing;
    /** By bucket; empty on a rank that exchanges nothing. */
    private final List<BucketReduction> prepared = new ArrayList<>();
    /** The buckets that have been started in this step. */
    private final List<BucketReduction> started = new ArrayList<>();

    private final SettingsCheck settingsCheck;
    /** Null if all ranks count alike. */
    private final BatchWeights weights;

    private final LocalParameters local;
    private final UnusedParameters unused;
    /** Whether nothing is ever sent; passes are counted all the same, so that a program is refused what it is refused on several ranks. */
    private final boolean alone;
    /** Weighs gradients that do not announce themselves. */
    private final HostGradients plain;

    /** The number of steps in which something was sent. */
    private long steps;

    /** What this rank has sent of sparse gradients in this step, before the wait. */
    private long sparseBytes;

    /** Size of the gradients of this step that were averaged before backward ended. */
    private long hiddenBytes;

    /** Whether the optimizer keeps its gradients as backward has left them until they are staged. */
    private boolean mayTravelLate;
    /** Whether no gradient of this step travels before all of them do. */
    private boolean travelsLate;

    private int passesPerStep;
    /** The most backward passes of this step that a parameter has gone through, of those that are not inside {@code noSync()}. */
    private int mostPasses;
    /** By parameter, the passes inside the {@code noSync()} that is open. */
    private final int[] keptPasses;
    /** The passes of this step inside of {@code noSync()}. */
    private int kept;
    /** Whether backward passes stay on this rank and are not counted. */
    private boolean keepsLocal;
    /** From then on they always do. */
    private boolean closed;
    /** By parameter, whether any backward pass of this step has reached it, also one that stays on this rank. */
    private final BitSet reached = new BitSet();
    /** Told of each gradient before its average overwrites it. */
    private IntConsumer beforeLeaving = parameter -> {};
    /** Null unless this rank's gradients can never meet those of the others. */
    private HvdException ended;

    /**
     * @param grouping is asked between steps
     * @param range null without range control
     * @param settingsCheck begins before the first gradients are sent
     * @param weights null if all ranks count alike
     * @param local the parameters whose gradients stay on this rank
     * @param unused is told in the first step which parameters backward has not reached
     * @param alone true if nothing is ever sent
     */
    public GradientExchange(
            GradientReduction reduction,
            List<Parameter> parameters,
            Supplier<Buckets> grouping,
            WireRange range,
            int passesPerStep,
            SettingsCheck settingsCheck,
            BatchWeights weights,
            LocalParameters local,
            UnusedParameters unused,
            boolean alone) {
        this.reduction = reduction;
        this.parameters = parameters;
        this.grouping = grouping;
        this.buckets = grouping.get();
        this.range = range;
        this.passes = new int[parameters.size()];
        this.keptPasses = new int[parameters.size()];
        this.missing = new int[buckets.count()];
        this.passesPerStep = passesPerStep;
        this.settingsCheck = settingsCheck;
        this.weights = weights;
        this.local = local;
        this.unused = unused;
        this.plain = new HostGradients(parameters);
        this.alone = alone;
        if (!alone) {
            prepare(passesPerStep);
        }
        startOver();
    }

    private void prepare(int passCount) {
        List<BucketReduction> fresh = new ArrayList<>();
        for (int bucket = 0; bucket < buckets.count(); bucket++) {
            fresh.add(reduction.prepare(
                    bucket,
                    buckets.members(bucket).stream().map(parameters::get).toList(),
                    passCount));
        }
        prepared.forEach(BucketReduction::close);
        prepared.clear();
        prepared.addAll(fresh);
    }

    /** From the next step on gradients may stay where backward has left them until all of them travel. */
    public void mayTravelLate() {
        mayTravelLate = true;
    }

    /** Forgets the backward passes and what came of them. */
    public synchronized void startOver() {
        steps += started.isEmpty() ? 0 : 1;
        started.clear();
        sparseBytes = 0;
        hiddenBytes = 0;
        travelsLate = mayTravelLate && ended == null && reduction.travelsLate();
        Arrays.fill(passes, 0);
        mostPasses = 0;
        Arrays.fill(keptPasses, 0);
        kept = 0;
        reached.clear();
        if (range != null && ended == null) {
            range.undo(); // what has left and not arrived
        }
        expectAll();
        if (weights != null && ended == null) {
            weights.startOver();
        }
    }

    private void expectAll() {
        for (int bucket = 0; bucket < buckets.count(); bucket++) {
            missing[bucket] = buckets.members(bucket).size();
        }
    }

    /** The gradients of a step have come; those of the next one may be in other buckets. */
    public synchronized void endStep() {
        startOver();
        Buckets next = grouping.get();
        if (next != buckets) {
            buckets = next;
            missing = new int[next.count()];
            prepare(passesPerStep);
            expectAll();
        }
    }

    /** The ranks' settings differ, so that what has been sent off may never come back. */
    private void requireThatGradientsMeet() {
        try {
            settingsCheck.requireThatGradientsMeet();
        } catch (HvdException e) {
            if (e.id() == ErrorId.DIVERGED) {
                ended = e;
                startOver();
            }
            throw e;
        }
    }

    private void requireNotEnded() {
        if (ended != null) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "this optimizer has ended with its first step, in which the ranks' settings differed: what it has sent"
                            + " then may still be under way. Build a new one on every rank, with the same settings",
                    ended);
        }
    }

    /** The next backward pass is over so many samples. */
    public synchronized void batchSize(long samples) {
        if (weights == null) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "batchSize(" + samples
                            + ") of an optimizer that was built without weightByBatchSize(): every rank's"
                            + " gradients count alike");
        }
        requireNotEnded();
        weights.batch(samples, !keepsLocal, passesPerStep);
        if (weights.isAsked()) {
            settingsCheck.begin(); // before any rank waits for the answer
        }
    }

    /** Whether {@link #batchSize} has been called in this step. */
    public synchronized boolean hasBatch() {
        return weights != null && ended == null && weights.isUnderWay();
    }

    /** Whether all batches of this rank in this step are empty. */
    public synchronized boolean hasEmptyBatch() {
        return weights != null && weights.isEmptyHere();
    }

    @Override
    public synchronized double weight(int parameter) {
        if (buckets.contain(parameter)) {
            return weights == null ? ofAnnounced() : share();
        }
        if (weights != null) {
            return local.scaled() ? share() : weights.mean();
        }
        return local.scaled() ? 1.0 / (reduction.set().size() * passesInMean()) : 1.0 / passesInMean();
    }

    /** A bucket divides by the passes that were announced: by this factor its gradients are means of those that were made. */
    private double ofAnnounced() {
        return reduction.localReduction() == LocalReduction.MEAN ? (double) passesPerStep / passesInMean() : 1;
    }

    /** The passes that were made, of whichever parameters; where gradients do not announce themselves, those that are planned. */
    private int passesInMean() {
        int made = kept + mostPasses;
        return reduction.localReduction() == LocalReduction.MEAN ? made == 0 ? passesPerStep : made : 1;
    }

    /** The factor of a rank's gradient with which the sum over the ranks is the result. */
    private double weightInSum() {
        if (weights != null) {
            return share();
        }
        return 1.0 / (reduction.isSum() ? passesInMean() : reduction.set().size() * passesInMean());
    }

    private double share() {
        settingsCheck.begin();
        requireThatGradientsMeet();
        return weights.share();
    }

    /** The number of steps in which something was sent. */
    public synchronized long steps() {
        return steps;
    }

    /** True after {@link #startOver()} and before the first gradient. */
    public synchronized boolean isBetweenSteps() {
        return started.isEmpty() && Arrays.stream(passes).allMatch(done -> done == 0);
    }

    /** Call it only while nothing is in flight. */
    public synchronized void keepLocal(boolean keeps) {
        keepsLocal = keeps || closed;
        kept += Arrays.stream(keptPasses).max().orElse(0);
        Arrays.fill(keptPasses, 0);
    }

    public synchronized boolean isLocal() {
        return keepsLocal;
    }

    /** Call it only between steps. */
    public synchronized void passesPerStep(int count) {
        if (count != passesPerStep) {
            if (!prepared.isEmpty()) {
                prepare(count);
            }
            passesPerStep = count;
        }
    }

    /** Waits for what is in flight and gives back what is prepared. From now on backward passes exchange nothing. */
    public synchronized void close() {
        closed = true;
        keepsLocal = true;
        if (range != null && ended == null) {
            range.settle();
        }
        prepared.forEach(BucketReduction::close);
        prepared.clear();
        if (weights != null) {
            weights.close();
        }
    }

    /** From now on losses are multiplied by this scale. */
    public void lossScale(DoubleSupplier scale) {
        reduction.lossScale(scale);
    }

    /** The optimizer has taken over another state. */
    public void stateLoaded() {
        reduction.stateLoaded();
    }

    /** Names of the parameters whose gradients have been sent off, or would have been in a step that travels bucket by bucket. */
    public synchronized List<String> inFlight() {
        List<String> names = new ArrayList<>();
        for (int bucket = 0; bucket < buckets.count() && (alone || !prepared.isEmpty()); bucket++) {
            boolean stays = travelsLate || alone;
            if (stays ? missing[bucket] == 0 : started.contains(prepared.get(bucket))) {
                buckets.members(bucket)
                        .forEach(
                                parameter -> names.add(parameters.get(parameter).name()));
            }
        }
        return names;
    }

    @Override
    public synchronized boolean passed(int parameter) {
        requireNotEnded();
        if (weights != null) {
            weights.requireSamples(parameters.get(parameter).name());
        }
        reached.set(parameter);
        if (keepsLocal) {
            keptPasses[parameter]++;
            return false;
        }
        mostPasses = Math.max(mostPasses, ++passes[parameter]);
        if (passes[parameter] > passesPerStep) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "parameter \"" + parameters.get(parameter).name() + "\" has gone through backward pass "
                            + passes[parameter] + " before step(), allowed are " + passesPerStep
                            + ". Call step() in time, or raise backwardPassesPerStep." + USUAL_CAUSES);
        }
        boolean complete = passes[parameter] == passesPerStep;
        if (complete && waitsForTheOthers(parameter)) {
            missing[buckets.bucketOf(parameter)]--;
            return false;
        }
        return complete;
    }

    /** Whether the gradient stays where backward has left it until all of them travel, or for good. */
    private boolean waitsForTheOthers(int parameter) {
        return (travelsLate || alone) && buckets.contain(parameter);
    }

    /** Whether the gradient is where it travels, so that it needs not be put there. */
    private boolean isStaged(int parameter) {
        return passes[parameter] == passesPerStep && !waitsForTheOthers(parameter);
    }

    /** A backward pass of the program's own has put a gradient in its place. */
    public synchronized void passedHere(int parameter) {
        if (passed(parameter) && !alone) {
            weigh(parameter);
            ready(parameter);
        }
    }

    private void weigh(int parameter) {
        plain.multiplyGradient(parameter, weight(parameter));
    }

    @Override
    public synchronized void ready(int parameter) {
        if (!buckets.contain(parameter)) {
            return;
        }
        beginRange();
        leaving(parameter);
        int bucket = buckets.bucketOf(parameter);
        if (--missing[bucket] == 0) {
            settingsCheck.begin();
            reduction
                    .set()
                    .forOptimizers()
                    .inAnyOrder(() -> prepared.get(bucket).start(steps));
            started.add(prepared.get(bucket));
        }
    }

    private void beginRange() {
        if (range != null && range.begin()) {
            prepare(passesPerStep);
        }
    }

    /** Says what is done with each gradient before its average overwrites it. */
    public void beforeLeaving(IntConsumer action) {
        beforeLeaving = action;
    }

    private void leaving(int parameter) {
        beforeLeaving.accept(parameter);
        if (range != null) {
            range.leaving(parameter);
        }
    }

    /**
     * Sends off what backward has left: a parameter outside of this backward, or with fewer passes than planned, still takes
     * part.
     *
     * @param source puts a gradient, or zeros, in its place; null if gradients do not announce themselves
     */
    public synchronized void submitRest(GradientSource source) {
        requireNotEnded();
        for (int i = 0; i < started.size(); i++) {
            hiddenBytes += started.get(i).bytesDone();
        }
        if (weights != null) {
            share(); // or an error, before anything is sent
        }
        try {
            sendRest(source);
        } catch (RuntimeException | Error e) {
            giveUp(e);
            throw e;
        }
    }

    /** Sends the buckets that would have been sent during backward. */
    private synchronized void sendComplete(GradientSource source) {
        List<BucketReduction> full = new ArrayList<>();
        List<Integer> late = new ArrayList<>();
        for (int bucket = 0; travelsLate && bucket < prepared.size(); bucket++) {
            if (missing[bucket] == 0) {
                full.add(prepared.get(bucket));
                late.addAll(buckets.members(bucket));
            }
        }
        if (!full.isEmpty()) {
            beginRange();
            source.stageKept(late);
            late.forEach(this::leaving);
            settingsCheck.begin();
            started.addAll(full);
            startAll(full);
        }
    }

    /** What hooks have sent before is another part of the buckets on each rank. */
    private void startAll(List<BucketReduction> buckets) {
        reduction.set().forOptimizers().inAnyOrder(() -> BucketReduction.startAll(buckets, steps));
    }

    /** Backward has sent off gradients before the rest of them failed. */
    private void giveUp(Throwable why) {
        if (ended == null) {
            try {
                awaitStarted();
            } catch (RuntimeException e) {
                why.addSuppressed(e);
            }
            failed();
        }
    }

    private void sendRest(GradientSource source) {
        beginRange();
        List<BucketReduction> rest = stageRest(source);
        settingsCheck.begin();
        if (unused.isDue()) {
            unused.begin(source != null && !hasEmptyBatch() ? unreached() : List.of());
        }
        started.addAll(rest); // also those that a failed start has left; nobody waits for these in vain
        startAll(rest);
        if (source != null && !source.sparse().isEmpty()) {
            requireThatGradientsMeet();
            sparseBytes = source.exchangeSparse(reduction.set(), reduction.scope(), weightInSum());
        }
    }

    /** @return the buckets that have not been started, with all of their gradients where they travel */
    private List<BucketReduction> stageRest(GradientSource source) {
        List<BucketReduction> rest = new ArrayList<>();
        List<Integer> late = new ArrayList<>();
        for (int bucket = 0; bucket < buckets.count(); bucket++) {
            if (!started.contains(prepared.get(bucket))) {
                rest.add(prepared.get(bucket));
                addUnstaged(buckets.members(bucket), late);
            }
        }
        stage(late, source);
        late.forEach(this::leaving);
        List<Integer> local = new ArrayList<>();
        for (int parameter = 0; parameter < passes.length; parameter++) {
            if (!buckets.contain(parameter)) {
                local.add(parameter);
            }
        }
        List<Integer> unstaged = new ArrayList<>();
        addUnstaged(local, unstaged);
        stage(unstaged, source);
        local.forEach(beforeLeaving::accept);
        return rest;
    }

    private void addUnstaged(List<Integer> from, List<Integer> to) {
        for (int i = 0; i < from.size(); i++) {
            if (!isStaged(from.get(i))) {
                to.add(from.get(i));
            }
        }
    }

    private void stage(List<Integer> unstaged, GradientSource source) {
        if (source == null) {
            unstaged.forEach(this::weigh);
            return;
        }
        List<Integer> kept = new ArrayList<>();
        List<Integer> others = new ArrayList<>();
        for (int i = 0; i < unstaged.size(); i++) {
            int parameter = unstaged.get(i);
            (passes[parameter] == passesPerStep ? kept : others).add(parameter);
        }
        source.stageKept(kept);
        source.stageAll(others);
    }

    private List<Integer> unreached() {
        int[] shared = IntStream.range(0, passes.length)
                .filter(parameter -> !local.contains(parameters.get(parameter)))
                .toArray();
        return IntStream.range(0, shared.length)
                .filter(place -> buckets.contain(shared[place]) && !reached.get(shared[place]))
                .boxed()
                .toList();
    }

    /**
     * Waits for all, also when one fails, so that no gradient is touched behind the caller's back.
     *
     * @param backwardEnded by {@link System#nanoTime()}
     */
    public StepStats awaitAll(long backwardEnded) {
        // Asked, not called back: the program learns of no result before it waits, so that gradients can travel
        // together.
        long bytes = sparseBytes;
        long hidden = hiddenBytes;
        for (BucketReduction bucket : started) {
            bytes += bucket.bytes();
        }
        try {
            awaitStarted();
            arrived();
        } catch (RuntimeException e) {
            failed();
            throw e;
        }
        unused.look();
        long sent = sparseBytes
                + started.stream().mapToLong(BucketReduction::bytesSent).sum();
        return new StepStats(bytes, hidden, sent, System.nanoTime() - backwardEnded);
    }

    /** Waits for the buckets also if the comparison of the settings has failed, unless they may never come. */
    private void awaitStarted() {
        RuntimeException first = null;
        try {
            requireThatGradientsMeet();
        } catch (HvdException e) {
            first = e;
        }
        for (BucketReduction bucket : started) { // none, if the optimizer has ended
            try {
                bucket.await();
            } catch (RuntimeException e) {
                first = first == null ? e : first;
            }
        }
        if (first != null) {
            throw first;
        }
    }

    private void failed() {
        if (ended == null) {
            startOver();
            settingsCheck.startOver();
        }
    }

    private synchronized void arrived() {
        if (range != null && !started.isEmpty()) {
            range.arrived();
        }
    }

    /**
     * Waits for what backward has sent off in this step, of which nothing is kept. Only some of the ranks may come here. Gradients that
     * travel late are sent now, because other ranks may have sent theirs during backward.
     */
    public void drop(GradientSource source) {
        requireNotEnded();
        sendComplete(source);
        if (!started.isEmpty()) {
            try {
                awaitStarted();
            } catch (RuntimeException e) {
                failed();
                throw e;
            }
        }
        startOver();
    }
}
