package io.hvd.train;

import io.hvd.ProcessSet;
import io.hvd.data.EpochBatches;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Optimizer;
import io.hvd.tensor.JoinDivisor;
import io.hvd.train.loop.DealtRanks;
import io.hvd.train.loop.StepVote;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * Runs epochs with callbacks, on all ranks in step: the metrics of an epoch are averaged over the ranks before a callback sees
 * them, the order of the callbacks is fixed, and the ranks stop together or not at all.
 *
 * <pre>{@code
 * TrainingLoop.of(hvd, optimizer)
 *         .with(new BroadcastState(0))
 *         .with(new LearningRate(Schedule.cosine(0.1, 0, 20).warmUp(hvd.size(), 2)))
 *         .with(new EarlyStop(Goal.smallest("test loss"), 3))
 *         .evaluation(training -> evaluate(training.metrics()))
 *         .run(20, loader, (batch, training) -> train(batch, training.metrics()));
 * }</pre>
 */
public final class TrainingLoop {
    private static final HvdLogger LOG = HvdLogger.of(TrainingLoop.class);

    private final ProcessSet ranks;
    private final Optimizer optimizer;
    private final Callbacks callbacks = new Callbacks();
    private Evaluation evaluation = training -> {};
    private int firstEpoch;
    private long mostSteps = Long.MAX_VALUE;
    /** Null if all ranks have as many batches. */
    private JoinDivisor divisor;

    private TrainingLoop(ProcessSet ranks, Optimizer optimizer) {
        this.ranks = Objects.requireNonNull(ranks, "ranks");
        this.optimizer = Objects.requireNonNull(optimizer, "optimizer");
    }

    /** One batch: forward, backward and the step of the optimizer. */
    public interface Step<B> {
        /** Trains on a batch, and may add to {@link Training#metrics()}. */
        void run(B batch, Training training) throws Exception;
    }

    /** Measures at the end of an epoch. */
    public interface Evaluation {
        /** Adds this rank's sums to {@link Training#metrics()}. */
        void run(Training training) throws Exception;
    }

    /**
     * Begins a loop.
     *
     * @param ranks those that the optimizer averages over, usually the context
     * @param optimizer usually a {@code DistributedOptimizer} or an {@code AmpOptimizer}
     */
    public static TrainingLoop of(ProcessSet ranks, Optimizer optimizer) {
        return new TrainingLoop(ranks, optimizer);
    }

    /** Adds a callback; every rank adds the same ones. */
    public TrainingLoop with(Callback callback) {
        callbacks.add(callback);
        return this;
    }

    /** Sets what is measured at the end of each epoch, before the averages are made. */
    public TrainingLoop evaluation(Evaluation measure) {
        this.evaluation = Objects.requireNonNull(measure, "evaluation");
        return this;
    }

    /** Sets the epoch to begin with, after a resume. */
    public TrainingLoop firstEpoch(int epoch) {
        this.firstEpoch = epoch;
        return this;
    }

    /**
     * Ends the training after so many steps. In the middle of an epoch no evaluation follows, and behind its last step its end does. An
     * {@code AutoResume} saves, and a later run with a larger limit goes on. Every rank sets the same limit.
     *
     * @param steps batches over all epochs, with those of the runs that this one resumes; with several backward passes per step, those
     *     that the last step lacks are made too
     */
    public TrainingLoop maxSteps(long steps) {
        if (steps < 1) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, "maxSteps(" + steps + "): expected at least 1");
        }
        this.mostSteps = steps;
        return this;
    }

    /**
     * Lets the ranks have different numbers of batches in an epoch: each makes its own, and joins the others' steps until the last
     * one has made its last; then all have the parameters, the optimizer's state and the number of steps of the rank that was
     * last. The epoch ends as ever, with all ranks. {@link Training#batches} is the largest number, so that schedules are the
     * same on all ranks.
     *
     * <p>While ranks have joined, callbacks must not call collectives, which {@link Callback#meetsInBatches} says of them.
     *
     * @param by what averages are divided by while ranks have joined, as in {@code DistributedOptimizer.join}
     */
    public TrainingLoop join(JoinDivisor by) {
        this.divisor = Objects.requireNonNull(by, "divisor");
        return this;
    }

    /**
     * Trains. A collective: every rank of the set calls it.
     *
     * @param epochs their number, including those before the first one
     * @param loader gives the batches, and says in each epoch how many there are, after its {@code evenSteps} if it has any
     * @throws HvdException on all ranks, if they differ in epochs or callbacks, or their loaders in batches, as with {@link
     *     UnevenSteps#JOIN}, without {@link #join}; with it, if a callback calls collectives in batches
     * @throws CallbackException if a step, the evaluation or a callback throws on this rank
     */
    public <B> Training run(int epochs, EpochBatches<B> loader, Step<B> step) {
        return run(epochs, loader, loader.batches(), step);
    }

    /**
     * Trains on batches of any kind, which do not say how many they are. A collective: every rank of the set calls it.
     *
     * @param epochs their number, including those before the first one
     * @param data the batches of an epoch, each time it is iterated over
     * @param batches their number, the same on every rank, because steps average gradients, which takes all ranks
     * @throws HvdException on all ranks, if they differ in epochs, batches or callbacks, or the epochs of loaders in batches, as
     *     with {@link UnevenSteps#JOIN}, without {@link #join}; with it, if a callback calls collectives in batches
     * @throws CallbackException if a step, the evaluation or a callback throws on this rank
     */
    public <B> Training run(int epochs, Iterable<B> data, int batches, Step<B> step) {
        boolean known = data instanceof EpochBatches<?>;
        requireSensible(epochs, batches, known || divisor != null ? 0 : 1);
        Training training = new Training(ranks, optimizer, epochs, batches);
        requireSame(training, !known);
        if (data instanceof EpochBatches<?> loader) {
            DealtRanks.look(ranks, loader.replicas());
        }
        StepVote vote = new StepVote("training.cancel", ranks, () -> training.asksToCancel() == null ? 0 : 1);
        try {
            EpochMeeting meeting = EpochMeeting.of(training, divisor, vote);
            new LoopRun<>(training, meeting, callbacks, evaluation, mostSteps, data, step).run(firstEpoch);
            if (ranks.rank() == 0) {
                LOG.notice("the training has ended: {}", training.outcome());
            }
            vote.close();
        } catch (RuntimeException | Error e) {
            vote.abandon();
            callbacks.tellOfFailure(training, e);
            throw e;
        }
        return training;
    }

    /** @param least number of batches; the epochs of a loader are looked at when they begin */
    private void requireSensible(int epochs, int batches, int least) {
        if (firstEpoch < 0 || epochs < firstEpoch || batches < least) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "a loop from epoch " + firstEpoch + " to " + epochs + " with " + batches
                            + " batches: expected a first epoch of at least 0, no fewer epochs, and at least 1 batch");
        }
        if (divisor != null) {
            requireJoinable();
        }
    }

    /** Refuses what cannot go on without ranks that have joined. */
    private void requireJoinable() {
        List<String> meeting = callbacks.namesOfThoseThatMeetInBatches();
        if (!meeting.isEmpty()) {
            throw new HvdException(
                    ErrorId.UNEVEN_STEPS,
                    "a TrainingLoop with join(" + divisor + ") has the callbacks " + meeting
                            + ", which meet all ranks after each batch, and ranks that have joined do not come. Leave them out, or"
                            + " give all ranks as many batches by UnevenSteps.PAD or DROP. SaveCheckpoint saves after epochs");
        }
        if (!(optimizer instanceof AmpOptimizer || optimizer instanceof DistributedOptimizer)) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "a TrainingLoop with join(" + divisor
                            + ") needs a DistributedOptimizer or an AmpOptimizer, found "
                            + optimizer.getClass().getName());
        }
        if (mostSteps < Long.MAX_VALUE) {
            throw new HvdException(
                    ErrorId.UNEVEN_STEPS,
                    "a TrainingLoop has join(" + divisor + ") and maxSteps(" + mostSteps
                            + "): the ranks make different numbers of steps, so the limit would end them at different"
                            + " times. Leave one of the two out, or end after fewer epochs");
        }
    }

    private void requireSame(Training training, boolean andBatches) {
        Map<String, String> same = new TreeMap<>();
        same.put("first epoch", String.valueOf(firstEpoch));
        same.put("join", String.valueOf(divisor));
        if (mostSteps < Long.MAX_VALUE) {
            same.put("largest number of steps", String.valueOf(mostSteps));
        }
        same.put("number of epochs", String.valueOf(training.epochs()));
        if (andBatches && divisor == null) {
            same.put("number of batches", String.valueOf(training.batches()));
        }
        same.put("callbacks", callbacks.names().toString());
        ranks.requireSame(same);
    }
}
