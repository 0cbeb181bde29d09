package io.hvd.train;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.Optimizer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/** How far a {@link TrainingLoop} is on this rank; for its steps and callbacks. */
public final class Training {
    private final ProcessSet ranks;
    private final Optimizer optimizer;
    private final int epochs;
    private final EpochMetrics metrics = new EpochMetrics();

    private final List<Runnable> checks = new ArrayList<>();
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
    /** Whether the epoch under way is left after this batch. */
    private boolean leaving;
    /** Whether no later run has anything to do. */
    private boolean over;

    Training(ProcessSet ranks, Optimizer optimizer, int epochs, int batches) {
        this.ranks = ranks;
        this.optimizer = optimizer;
        this.epochs = epochs;
        this.batches = batches;
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

    /** The epoch and the part of it that is done. */
    public double progress() {
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
        leaving = true;
    }

    /** Leaves an epoch that begins, on all ranks alike, since an earlier run was stopped for good. */
    void over(String why) {
        leave(why);
        over = true;
    }

    /**
     * Goes on where another run has ended. A callback calls it in {@link Callback#trainingBegins} alike on all ranks.
     *
     * @param atEpoch the epoch to go on with
     * @param done part of it that is done, from 0 to 1; the data gives the rest
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

    /** Why the loop was stopped on this rank, or which ranks have asked for it; null if it was not. */
    public String stopReason() {
        return reason;
    }

    void beginEpoch(int number) {
        doneBefore = number == epoch ? doneBefore : 0;
        epoch = number;
        batch = 0;
        metrics.clear();
    }

    /** Sets the number of batches of the epoch that has begun. */
    void batches(int ofEpoch) {
        batches = ofEpoch;
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
    }

    /** All ranks have as many steps as the one with most. */
    void joined() {
        steps += batches - batch;
        batch = batches;
    }

    void average() {
        results = metrics.reduce(ranks);
    }

    void end(int epochsDone) {
        epoch = epochsDone;
    }
}
