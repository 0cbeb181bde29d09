package io.hvd.train;

import io.hvd.ProcessSet;
import io.hvd.data.EpochBatches;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.Optimizer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** How far a {@link TrainingLoop} is on this rank; for its steps and callbacks. */
public final class Training {
    /** How the reasons begin that {@code AutoResume} cancels with after a signal. */
    public static final String SIGTERM = "SIGTERM";

    private final ProcessSet ranks;
    private final Optimizer optimizer;
    private final int epochs;
    private final EpochMetrics metrics = new EpochMetrics();
    private final PassWindow window;

    private final List<Runnable> checks = new ArrayList<>();
    private final List<Supplier<String>> cancelling = new CopyOnWriteArrayList<>();
    private final AtomicReference<String> cancel = new AtomicReference<>();
    private final List<PauseSaver> pauseSavers = new ArrayList<>();
    private volatile boolean cancelled;
    /** Empty until the ranks have told each other. */
    private volatile SortedMap<Integer, String> cancelReasons = new TreeMap<>();
    /** Null for data that does not know its number of batches. */
    private EpochBatches.Pass<?> pass;

    private int batches;
    private int epoch;
    private int batch;
    private long steps;
    private long stepsResumed;
    /** The part of the epoch under way that was done before it was resumed. */
    private double doneBefore;

    private SortedMap<String, MeanMetric.Result> results = new TreeMap<>();
    /** Null if this rank goes on. */
    private String reason;

    private Outcome.Kind kind = Outcome.Kind.FINISHED;
    /** Whether the epoch under way is left after this batch. */
    private boolean leaving;
    /** Whether no later run has anything to do. */
    private boolean over;

    Training(ProcessSet ranks, Optimizer optimizer, int epochs, int batches) {
        this.ranks = ranks;
        this.optimizer = optimizer;
        this.epochs = epochs;
        this.batches = batches;
        this.window = new PassWindow(optimizer);
    }

    /** The ranks that train together. */
    public ProcessSet ranks() {
        return ranks;
    }

    /** This rank in the job, for messages. */
    int globalRank() {
        return ranks.ranks().get(ranks.rank());
    }

    /** The optimizer that the loop was given. */
    public Optimizer optimizer() {
        return optimizer;
    }

    /** The number of epochs, unless the loop is stopped. */
    public int epochs() {
        return epochs;
    }

    /** The number of batches of an epoch; of a loader, whose epochs may differ, that of the epoch from its first batch on. */
    public int batches() {
        return batches;
    }

    /** The epoch, counted from 0; after the last one, the number of epochs that are done. */
    public int epoch() {
        return epoch;
    }

    /** The batch within its epoch, counted from 0; after the last one their number. */
    public int batch() {
        return batch;
    }

    /** Batches that are done, over all epochs of this loop and of those that it {@linkplain #resumeAt resumes}. */
    public long steps() {
        return steps;
    }

    /** How many of {@link #steps} were done before this loop, as {@link #resumeAt} was told; else 0. */
    public long stepsResumed() {
        return stepsResumed;
    }

    /**
     * The epoch and the part of it that is done, in batches: the pass of a loader of hvd knows it, also where it is the rest of an epoch
     * that was resumed.
     */
    public double progress() {
        if (pass != null && (doneBefore == 0 || pass.progress(0, batches) > 0)) {
            return epoch + pass.progress(batch, batches);
        }
        double ofPass = batches == 0 ? 1 : batch / (double) batches;
        return epoch + doneBefore + (1 - doneBefore) * ofPass;
    }

    /** Collects what is averaged over the ranks when the epoch ends; steps and the evaluation add to it. */
    public EpochMetrics metrics() {
        return metrics;
    }

    /** The averages of the last epoch that has ended, by name. */
    public SortedMap<String, MeanMetric.Result> results() {
        return Collections.unmodifiableSortedMap(results);
    }

    /**
     * One of the averages.
     *
     * @throws HvdException if there is none of this name
     */
    public MeanMetric.Result result(String metric) {
        MeanMetric.Result result = results.get(metric);
        if (result == null) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "there is no metric \"" + metric + "\" in epoch " + epoch
                            + ": the steps and the evaluation have added " + results.keySet()
                            + ". Add it by training.metrics().add(name, sum, samples)");
        }
        return result;
    }

    /**
     * Whether the epoch that has ended had no batch left when it was resumed, and nobody has measured this at its end: a run that has
     * ended right after the last batch of an epoch goes on with this epoch's end. Callbacks that decide by a metric then wait
     * for the next epoch. The same on all ranks.
     */
    boolean isRestWithout(String metric) {
        return batch == 0 && !results.containsKey(metric);
    }

    /**
     * Asks for an end. If one rank does so, all of them end together after the epoch, or in {@link Callback#trainingBegins} before
     * the first one.
     *
     * @param why for {@link #stopReason}
     */
    public void stop(String why) {
        reason = why;
        kind = Outcome.Kind.STOPPED;
    }

    /**
     * Ends the loop after this batch, in the middle of its epoch: no evaluation and no end of the epoch follow. A callback calls
     * it in {@link Callback#batchEnds} after the same batch on all ranks, such as when these have agreed on it, or in {@link
     * Callback#epochBegins}, and then no batch is trained.
     *
     * @param why for {@link #stopReason}
     */
    public void leave(String why) {
        reason = why;
        kind = Outcome.Kind.LEFT;
        leaving = true;
    }

    /**
     * Leaves the epoch on all ranks after the same step, or behind the epoch's end if that was its last step. What has ended the loop in
     * this step already is the reason.
     */
    void leaveAfter(long mostSteps) {
        boolean endsEpoch = batch > 0 && batch == batches;
        if (endsEpoch && epoch + 1 == epochs) {
            return;
        }
        String why = "the limit of " + mostSteps + " steps is reached";
        if (endsEpoch) {
            stop(why);
        } else {
            leave(why);
        }
        kind = Outcome.Kind.STEP_LIMIT;
    }

    /** Leaves an epoch that begins, on all ranks alike, since an earlier run was stopped for good. */
    void over(String why) {
        leave(why);
        kind = Outcome.Kind.STOPPED;
        over = true;
    }

    /**
     * Goes on where another run has ended. A callback calls it in {@link Callback#trainingBegins} alike on all ranks.
     *
     * @param atEpoch the epoch to go on with
     * @param done part of it that is done, from 0 to 1, for data that does not know it; the data gives the rest
     * @param stepsBefore batches of all runs before
     */
    public void resumeAt(int atEpoch, double done, long stepsBefore) {
        epoch = atEpoch;
        doneBefore = done;
        steps = stepsBefore;
        stepsResumed = stepsBefore;
    }

    /**
     * Has a callback look before each save, so that nothing is saved which it refuses by throwing.
     *
     * @param check called on all ranks alike; it may call collectives
     */
    public void beforeSaving(Runnable check) {
        checks.add(check);
    }

    /**
     * A callback that saves calls it on all ranks first.
     *
     * @throws HvdException on all ranks, if one of the checks does not let this state be saved
     */
    public void requireSavable() {
        checks.forEach(Runnable::run);
    }

    /** Whether nothing has to be asked before a save. */
    public boolean isSavableUnasked() {
        return checks.isEmpty();
    }

    /**
     * How a loop has ended. All but the reason is the same on all ranks: one that has not called {@link #stop} knows which ranks have.
     *
     * @param steps batches that are done, over all epochs
     * @param epochs those that are done
     * @param reason in words, such as which ranks have cancelled and why; empty for {@link Kind#FINISHED}
     */
    public record Outcome(Kind kind, long steps, int epochs, String reason) {
        /** Why a loop has ended. */
        public enum Kind {
            /** It has made all its epochs. */
            FINISHED("finished"),
            /** A rank has called {@link #stop}, as {@link EarlyStop} does on all of them. */
            STOPPED("stopped early"),
            /** A rank has called {@link #cancel}, or something given to {@link #cancelWhen} had a reason. */
            CANCELLED("cancelled"),
            /** A rank has got SIGTERM, and there was an {@code AutoResume}. */
            SIGTERM("SIGTERM"),
            /** It has made as many steps as {@link TrainingLoop#maxSteps} allows. */
            STEP_LIMIT("step limit"),
            /** A callback of the program has called {@link #leave}. */
            LEFT("left by a callback");

            private final String words;

            Kind(String words) {
                this.words = words;
            }

            /** In words, as in {@code run.json}. */
            public String words() {
                return words;
            }
        }

        /** One line, such as {@code cancelled after step 12 by rank 1: the window was closed (epochs: 2, steps: 12)}. */
        @Override
        public String toString() {
            String why = reason.isEmpty() || reason.startsWith(kind.words) ? reason : ": " + reason;
            String what = reason.startsWith(kind.words) ? "" : kind.words;
            return what + why + " (epochs: " + epochs + ", steps: " + steps + ")";
        }
    }

    /**
     * Why the loop has ended, once {@link TrainingLoop#run} has returned it, and in {@link Callback#trainingEnds}. A loop that ends by an
     * exception has none.
     */
    public Outcome outcome() {
        return new Outcome(kind, steps, epoch, reason == null ? "" : reason);
    }

    /** Why the loop was stopped on this rank, or which ranks have asked for it; null if it was not. */
    public String stopReason() {
        return reason;
    }

    /**
     * Asks all ranks to end: they do so together after the same step, in the middle of its epoch, usually the next one. Callbacks such
     * as {@code AutoResume} save as after SIGTERM, and {@link TrainingLoop#run} returns. An evaluation that is under way is not
     * interrupted, and the loop ends behind it. With {@link TrainingLoop#join} the ranks end together behind their last batches of
     * the epoch. A training that has ended is not changed. Any thread may call it, also a step.
     *
     * @param why for {@link #cancelReasons} and {@link #stopReason}; of several calls the first one counts
     */
    public void cancel(String why) {
        cancel.compareAndSet(null, Objects.requireNonNull(why, "why"));
    }

    /**
     * Cancels as soon as there is a reason.
     *
     * @param reason asked after each step and during pauses, on any thread; null if the training goes on. If it throws, that is a reason
     */
    public void cancelWhen(Supplier<String> reason) {
        cancelling.add(Objects.requireNonNull(reason, "reason"));
    }

    /** Why this rank asks for an end; null if it does not. */
    public String asksToCancel() {
        for (Supplier<String> each : cancelling) {
            String why = cancel.get() == null ? asked(each) : null;
            if (why != null) {
                cancel(why); // it does not take that back
            }
        }
        return cancel.get();
    }

    /** A thread on which others wait must not end here, nor a program that cannot be asked train on for ever. */
    private static String asked(Supplier<String> reason) {
        try {
            return reason.get();
        } catch (RuntimeException e) {
            return "what was to say whether to cancel has thrown " + e;
        }
    }

    /**
     * Whether the ranks have agreed to end because of {@link #cancel} or a signal. In an evaluation of a training with {@code
     * AutoResume} it becomes true within a second, on each rank for itself: one without collectives may then return.
     */
    public boolean isCancelled() {
        return cancelled;
    }

    /** The ranks that have asked for this end, in the job, and why; empty if nobody has. The same on all ranks when the loop has ended. */
    public SortedMap<Integer, String> cancelReasons() {
        return Collections.unmodifiableSortedMap(cancelReasons);
    }

    /** The ranks have agreed. */
    void cancelled(SortedMap<Integer, String> reasons) {
        cancelled = true;
        cancelReasons = reasons;
        leave("cancelled after step " + steps + " by "
                + reasons.entrySet().stream()
                        .map(each -> "rank " + each.getKey() + ": " + each.getValue())
                        .collect(Collectors.joining("; ")));
        boolean signalled = reasons.values().stream().anyMatch(why -> why.startsWith(SIGTERM));
        kind = signalled ? Outcome.Kind.SIGTERM : Outcome.Kind.CANCELLED;
    }

    /** What saves a training that is cancelled while no steps are made, as during an evaluation or the wait for an epoch's first batch. */
    public interface PauseSaver {
        /** Copies what there is to save: on the thread that trains, on all ranks alike, behind the last step of an epoch. */
        void pauseBegins() throws IOException;

        /** Saves it: on a thread of its own on each rank, at most once in a pause. It calls no collective. */
        void cancelledInPause();

        /** This rank waits for a batch, and what it has does not change; on the thread that trains. */
        void waitBegins();

        /** It waits no longer. */
        void waitEnds();
    }

    /** Has the state saved if the training is cancelled in a pause. A callback calls it in {@link Callback#trainingBegins} on all ranks. */
    public void saveInPauses(PauseSaver saver) {
        pauseSavers.add(saver);
    }

    List<PauseSaver> pauseSavers() {
        return pauseSavers;
    }

    /** A pause has shown that a rank asks for an end; which one, the ranks tell each other behind it. */
    void cancelledInPause() {
        cancelled = true;
        pauseSavers.forEach(PauseSaver::cancelledInPause);
    }

    void beginEpoch(int number) {
        doneBefore = number == epoch ? doneBefore : 0;
        pass = null;
        epoch = number;
        batch = 0;
        metrics.clear();
    }

    /** Sets the number of batches of the epoch that has begun. @param of null for data that does not know it */
    void batches(int ofEpoch, EpochBatches.Pass<?> of) {
        batches = ofEpoch;
        pass = of;
    }

    /** Whether the epoch under way is left, or was left, before its end, so that a later run goes on with it. */
    public boolean isLeaving() {
        return leaving && !over;
    }

    boolean leaves() {
        return leaving;
    }

    void endBatch() {
        batch++;
        steps++;
        window.batchEnds();
    }

    /**
     * Whether backward passes of the last batches wait for their step, as far as the steps before it show: a checkpoint would be without
     * them. The same on all ranks if they step in the same batches.
     */
    public boolean isBetweenPasses() {
        return window.isOpen();
    }

    /** All ranks have as many steps as the one with most. */
    void joined() {
        steps += batches - batch;
        batch = batches;
    }

    void average() {
        results = metrics.reduce(ranks);
    }

    /** A cancel that came behind the last evaluation has changed nothing. */
    void end(int epochsDone) {
        epoch = epochsDone;
        cancelled = !cancelReasons.isEmpty();
    }
}
