package io.hvd.train;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.Optimizer;
import io.hvd.train.loop.CancelRequest;
import io.hvd.train.loop.PassWindow;
import io.hvd.train.loop.Position;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Supplier;

/** The state of a {@link TrainingLoop} on this rank, for its steps and callbacks. */
public final class Training {
    /** The first word of {@code AutoResume}'s reasons for a cancel after a signal. */
    public static final String SIGTERM = "SIGTERM";

    private final ProcessSet ranks;
    private final Optimizer optimizer;
    private final int epochs;
    private final EpochMetrics metrics = new EpochMetrics();
    private final Position position;
    private final PassWindow window;
    private final CancelRequest request = new CancelRequest();
    private final Ending ending = new Ending();
    private final List<Runnable> checks = new ArrayList<>();
    private final List<PauseSaver> pauseSavers = new ArrayList<>();
    private SortedMap<String, MeanMetric.Result> results = new TreeMap<>();

    Training(ProcessSet ranks, Optimizer optimizer, int epochs, int batches) {
        this.ranks = ranks;
        this.optimizer = optimizer;
        this.epochs = epochs;
        this.position = new Position(batches);
        this.window = new PassWindow(optimizer);
    }

    Position position() {
        return position;
    }

    Ending ending() {
        return ending;
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
        return position.batches();
    }

    /** The epoch, counted from 0; after the last one, the number of epochs that are done. */
    public int epoch() {
        return position.epoch();
    }

    /** The batch within its epoch, counted from 0; after the last one their number. */
    public int batch() {
        return position.batch();
    }

    /** Batches that are done, over all epochs of this loop and of those that it {@linkplain #resumeAt resumes}. */
    public long steps() {
        return position.steps();
    }

    /** How many of {@link #steps} were done before this loop, as {@link #resumeAt} was told; else 0. */
    public long stepsResumed() {
        return position.stepsResumed();
    }

    /**
     * The epoch and the part of it that is done, in batches: the pass of a loader of hvd knows it, also where it is the rest of an epoch
     * that was resumed.
     */
    public double progress() {
        return position.progress();
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
                    "there is no metric \"" + metric + "\" in epoch " + epoch()
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
        return batch() == 0 && !results.containsKey(metric);
    }

    /**
     * Asks for an end. If one rank does so, all of them end together after the epoch, or in {@link Callback#trainingBegins} before
     * the first one.
     *
     * @param why for {@link #stopReason}
     */
    public void stop(String why) {
        ending.stop(why);
    }

    /**
     * Ends the loop after this batch, in the middle of its epoch: no evaluation and no end of the epoch follow. A callback calls
     * it in {@link Callback#batchEnds} after the same batch on all ranks, such as when these have agreed on it, or in {@link
     * Callback#epochBegins}, and then no batch is trained.
     *
     * @param why for {@link #stopReason}
     */
    public void leave(String why) {
        ending.leave(why);
    }

    /**
     * Goes on where another run has ended. A callback calls it in {@link Callback#trainingBegins} alike on all ranks.
     *
     * @param atEpoch the epoch to go on with
     * @param done part of it that is done, from 0 to 1, for data that does not know it; the data gives the rest
     * @param stepsBefore batches of all runs before
     */
    public void resumeAt(int atEpoch, double done, long stepsBefore) {
        position.resumeAt(atEpoch, done, stepsBefore);
    }

    /**
     * Adds a check before each save. If it throws, nothing is saved.
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
        return ending.outcome(position);
    }

    /** Why the loop was stopped on this rank, or which ranks have asked for it; null if it was not. */
    public String stopReason() {
        return ending.reason();
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
        request.cancel(why);
    }

    /**
     * Cancels as soon as there is a reason.
     *
     * @param reason asked after each step and during pauses, on any thread; null if the training goes on. If it throws, that is a reason
     */
    public void cancelWhen(Supplier<String> reason) {
        request.cancelWhen(reason);
    }

    /** Why this rank asks for an end; null if it does not. */
    public String asksToCancel() {
        return request.reason();
    }

    /**
     * Whether the ranks have agreed to end because of {@link #cancel} or a signal. In an evaluation of a training with {@code
     * AutoResume} it becomes true within a second, on each rank for itself: one without collectives may then return.
     */
    public boolean isCancelled() {
        return ending.isCancelled();
    }

    /** The ranks that have asked for this end, in the job, and why; empty if nobody has. The same on all ranks when the loop has ended. */
    public SortedMap<Integer, String> cancelReasons() {
        return ending.cancelReasons();
    }

    /** Saves a training that is cancelled while no steps are made, as during an evaluation or the wait for an epoch's first batch. */
    public interface PauseSaver {
        /** Copies the state: on the thread that trains, on all ranks alike, behind the last step of an epoch. */
        void pauseBegins() throws IOException;

        /** Saves the copy: on a thread of its own on each rank, at most once in a pause. It calls no collective. */
        void cancelledInPause();

        /** This rank waits for a batch, and its state does not change; on the thread that trains. */
        void waitBegins();

        /** It waits no longer. */
        void waitEnds();
    }

    /** Saves the state if the training is cancelled in a pause. A callback calls it in {@link Callback#trainingBegins} on all ranks. */
    public void saveInPauses(PauseSaver saver) {
        pauseSavers.add(saver);
    }

    List<PauseSaver> pauseSavers() {
        return pauseSavers;
    }

    /** A pause has shown that a rank asks for an end; which one, the ranks tell each other behind it. */
    void cancelledInPause() {
        ending.cancelledInPause();
        pauseSavers.forEach(PauseSaver::cancelledInPause);
    }

    void beginEpoch(int number) {
        position.beginEpoch(number);
        metrics.clear();
    }

    /** Whether the epoch under way is left, or was left, before its end, so that a later run goes on with it. */
    public boolean isLeaving() {
        return ending.leavesToGoOn();
    }

    void endBatch() {
        position.endBatch();
        window.batchEnds();
    }

    /**
     * Whether backward passes of the last batches wait for their step, as far as the steps before it show: a checkpoint would be without
     * them. The same on all ranks if they step in the same batches.
     */
    public boolean isBetweenPasses() {
        return window.isOpen();
    }

    void average() {
        results = metrics.reduce(ranks);
    }

    void end(int epochsDone) {
        position.end(epochsDone);
        ending.loopEnds();
    }
}
