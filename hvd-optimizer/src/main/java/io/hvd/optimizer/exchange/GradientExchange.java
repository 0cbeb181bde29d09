package io.hvd.optimizer.exchange;

import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.StepStats;
import io.hvd.optimizer.agreement.SettingsCheck;
import io.hvd.optimizer.precision.GradientRange;
import io.hvd.optimizer.precision.WireRange;
import java.util.ArrayList;
import java.util.List;
import java.util.function.DoubleSupplier;
import java.util.function.IntConsumer;
import java.util.function.Supplier;

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

    private static final HvdLogger LOG = HvdLogger.of(GradientExchange.class);

    private final GradientReduction reduction;
    private final List<Parameter> parameters;
    /** Says in which buckets gradients travel in the next step. */
    private final Supplier<Buckets> grouping;

    private final GradientMeeting meeting;
    private final BackwardPasses passes;
    private final TravellingBuckets travelling;
    private final OddGradients odd;
    private final Weighting weighting;
    private final GradientRange range;
    private final GradientStaging staging;
    /** The schedule of the next step. */
    private Supplier<BucketSchedule> schedules;
    /** The schedule of this step. */
    private BucketSchedule schedule;
    /** Told of each gradient before its average overwrites it. */
    private IntConsumer beforeLeaving = parameter -> {};

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
        this.range = range == null ? GradientRange.UNTOUCHED : range;
        this.meeting = new GradientMeeting(settingsCheck, this::startOver);
        this.passes = new BackwardPasses(parameters, grouping.get(), passesPerStep);
        this.travelling = new TravellingBuckets(reduction, parameters, meeting);
        this.odd = new OddGradients(reduction, parameters, local, unused);
        this.weighting = weights == null
                ? new Weighting.OfRanks(reduction, passes, local.scaled())
                : new Weighting.OfSamples(weights, parameters, meeting, local.scaled());
        this.staging = new GradientStaging(parameters, passes, this::weight);
        this.schedule = alone ? new BucketSchedule.Never(passes) : new BucketSchedule.Early(travelling);
        this.schedules = () -> schedule;
        if (!alone) {
            travelling.prepare(passes.buckets(), passesPerStep);
        }
    }

    /** From the next step on gradients may stay where backward has left them until all of them travel. */
    public void mayTravelLate() {
        BucketSchedule early = schedule;
        BucketSchedule late = new BucketSchedule.Late(passes, travelling);
        schedules = () -> reduction.travelsLate() ? late : early;
    }

    /** Forgets the backward passes and what came of them. */
    public synchronized void startOver() {
        travelling.startOver();
        odd.startOver();
        passes.startOver();
        if (!meeting.hasEnded()) {
            schedule = schedules.get();
            range.undo(); // what has left and not arrived
            weighting.startOver();
        }
    }

    /** The gradients of a step have come; those of the next one may be in other buckets. */
    public synchronized void endStep() {
        startOver();
        Buckets next = grouping.get();
        if (next != passes.buckets()) {
            passes.regroup(next);
            travelling.prepare(next, passes.perStep());
        }
    }

    /** The next backward pass is over so many samples. */
    public synchronized void batchSize(long samples) {
        weighting.requireBatches(samples);
        meeting.requireNotEnded();
        weighting.batch(samples, passes);
    }

    /** Whether {@link #batchSize} has been called in this step. */
    public synchronized boolean hasBatch() {
        return weighting.hasBatch();
    }

    /** Whether all batches of this rank in this step are empty. */
    public synchronized boolean hasEmptyBatch() {
        return weighting.hasEmptyBatch();
    }

    @Override
    public synchronized double weight(int parameter) {
        if (passes.areClosed()) {
            return 1;
        }
        return passes.buckets().contain(parameter) ? weighting.ofBucket() : weighting.ofLocal();
    }

    /** The number of steps in which something was sent. */
    public synchronized long steps() {
        return travelling.steps();
    }

    /** True after {@link #startOver()} and before the first gradient. */
    public synchronized boolean isBetweenSteps() {
        return travelling.areNoneStarted() && passes.areNone();
    }

    /** Whether no backward pass has come since the last step, not even one whose gradients stay on this rank. */
    public synchronized boolean isUntouched() {
        return isBetweenSteps() && odd.areNoneReached() && !hasBatch() && !passes.areLocal();
    }

    /** Call it only while nothing is in flight. */
    public synchronized void keepLocal(boolean keeps) {
        passes.keepLocal(keeps);
    }

    public synchronized boolean isLocal() {
        return passes.areLocal();
    }

    public synchronized int passesPerStep() {
        return passes.perStep();
    }

    /** Call it only between steps. */
    public synchronized void passesPerStep(int count) {
        if (count != passes.perStep()) {
            if (travelling.arePrepared()) {
                travelling.prepare(passes.buckets(), count);
            }
            passes.perStep(count);
        }
    }

    /** Waits for what is in flight and gives back what is prepared. Backward passes may still be announced here; their gradients stay as they are. */
    public synchronized void close() {
        passes.close();
        settleRange();
        travelling.close();
        weighting.close();
    }

    /** Where the job has failed, the ranks' answers never come. */
    private void settleRange() {
        try {
            if (!meeting.hasEnded()) {
                range.settle();
            }
        } catch (HvdException e) {
            LOG.debug("what the ranks had still to say about the range of their gradients has failed", e);
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
        for (int bucket = 0; bucket < passes.buckets().count(); bucket++) {
            if (schedule.hasLeft(bucket)) {
                passes.buckets()
                        .members(bucket)
                        .forEach(
                                parameter -> names.add(parameters.get(parameter).name()));
            }
        }
        return names;
    }

    @Override
    public synchronized boolean passed(int parameter) {
        if (passes.areClosed()) {
            return false;
        }
        meeting.requireNotEnded();
        weighting.requireSamples(parameter);
        odd.reached(parameter);
        return passes.count(parameter) && schedule.takes(parameter);
    }

    /** A backward pass of the program's own has put a gradient in its place. */
    public synchronized void passedHere(int parameter) {
        if (passed(parameter)) {
            staging.weigh(parameter);
            ready(parameter);
        }
    }

    @Override
    public synchronized void ready(int parameter) {
        if (!passes.buckets().contain(parameter)) {
            return;
        }
        beginRange();
        leaving(parameter);
        if (passes.fill(parameter)) {
            travelling.start(passes.buckets().bucketOf(parameter));
        }
    }

    private void beginRange() {
        if (range.begin()) {
            travelling.prepare(passes.buckets(), passes.perStep());
        }
    }

    /** Says what is done with each gradient before its average overwrites it. */
    public void beforeLeaving(IntConsumer action) {
        beforeLeaving = action;
    }

    private void leaving(int parameter) {
        beforeLeaving.accept(parameter);
        range.leaving(parameter);
    }

    /**
     * Sends off what backward has left: a parameter outside of this backward, or with fewer passes than planned, still takes
     * part.
     *
     * @param source puts a gradient, or zeros, in its place; null if gradients do not announce themselves
     */
    public synchronized void submitRest(GradientSource source) {
        meeting.requireNotEnded();
        travelling.noteHidden();
        weighting.agree(); // or an error, before anything is sent
        try {
            sendRest(source);
        } catch (RuntimeException | Error e) {
            giveUp(e);
            throw e;
        }
    }

    /** Sends the buckets that would have been sent during backward. */
    private synchronized void sendComplete(GradientSource source) {
        List<Integer> full = schedule.kept();
        if (!full.isEmpty()) {
            List<Integer> late = new ArrayList<>();
            full.forEach(bucket -> late.addAll(passes.buckets().members(bucket)));
            beginRange();
            source.stageKept(late);
            late.forEach(this::leaving);
            meeting.begin();
            travelling.startTogether(full);
        }
    }

    /** Backward has sent off gradients before the rest of them failed. */
    private void giveUp(Throwable why) {
        if (!meeting.hasEnded()) {
            try {
                travelling.await();
            } catch (RuntimeException e) {
                why.addSuppressed(e);
            }
            failed();
        }
    }

    private void sendRest(GradientSource source) {
        beginRange();
        List<Integer> rest = stageRest(source);
        stageOutside(source);
        meeting.begin();
        odd.tellUnused(source != null && !hasEmptyBatch(), passes.buckets());
        travelling.startTogether(rest);
        if (source != null && !source.sparse().isEmpty()) {
            meeting.require();
            odd.exchangeSparse(source, weighting.inSum());
        }
    }

    /** @return the buckets that have not been started, with all of their gradients where they travel */
    private List<Integer> stageRest(GradientSource source) {
        List<Integer> rest = new ArrayList<>();
        List<Integer> late = new ArrayList<>();
        for (int bucket = 0; bucket < passes.buckets().count(); bucket++) {
            if (!travelling.isStarted(bucket)) {
                rest.add(bucket);
                staging.addUnstaged(passes.buckets().members(bucket), schedule, late);
            }
        }
        staging.stage(late, source);
        late.forEach(this::leaving);
        return rest;
    }

    /** Puts the gradients that are in no bucket where the optimizer finds them. */
    private void stageOutside(GradientSource source) {
        List<Integer> outside = new ArrayList<>();
        for (int parameter = 0; parameter < parameters.size(); parameter++) {
            if (!passes.buckets().contain(parameter)) {
                outside.add(parameter);
            }
        }
        List<Integer> unstaged = new ArrayList<>();
        staging.addUnstaged(outside, schedule, unstaged);
        staging.stage(unstaged, source);
        outside.forEach(beforeLeaving::accept);
    }

    /**
     * Waits for all, also when one fails, so that no gradient is touched behind the caller's back.
     *
     * @param backwardEnded by {@link System#nanoTime()}
     */
    public StepStats awaitAll(long backwardEnded) {
        // Asked, not called back: the program learns of no result before it waits, so that gradients can travel
        // together.
        long hidden = travelling.hiddenBytes();
        long bytes = odd.sparseBytes() + travelling.bytes();
        try {
            travelling.await();
            arrived();
        } catch (RuntimeException e) {
            failed();
            throw e;
        }
        odd.lookForUnused();
        long sent = odd.sparseBytes() + travelling.bytesSent();
        return new StepStats(bytes, hidden, sent, System.nanoTime() - backwardEnded);
    }

    private void failed() {
        if (!meeting.hasEnded()) {
            startOver();
            meeting.startOver();
        }
    }

    private synchronized void arrived() {
        if (!travelling.areNoneStarted()) {
            range.arrived();
        }
    }

    /**
     * Waits for what backward has sent off in this step, of which nothing is kept. Only some of the ranks may come here. Gradients that
     * travel late are sent now, because other ranks may have sent theirs during backward.
     */
    public void drop(GradientSource source) {
        meeting.requireNotEnded();
        sendComplete(source);
        if (!travelling.areNoneStarted()) {
            try {
                travelling.await();
            } catch (RuntimeException e) {
                failed();
                throw e;
            }
        }
        startOver();
    }
}
