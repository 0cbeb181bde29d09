package io.hvd.train.log;

import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.train.JsonCodec;
import io.hvd.train.Memory;
import io.hvd.train.Training;
import io.hvd.train.log.RunCard.EpochRow;
import io.hvd.train.log.RunCard.Summary;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;

/**
 * The record of a run in a folder: its curves, by a {@link ScalarWriter}, and its run card {@code run.json}, which says where and
 * with which versions and settings it ran, how fast each rank was, how its steps divide into computing, exchange and waiting for
 * data, and how it ended. {@code hvd-report} makes a page of such folders.
 *
 * <pre>{@code
 * try (RunLog log = RunLog.resume(hvd, Path.of("runs/a"), new RunDescription("mnist", Map.of("lr", "0.01")))) {
 *     log.during(() -> TrainingLoop.of(hvd, optimizer)
 *             .with(AutoResume.everySteps(500, checkpoints, sampler))
 *             .with(new LogScalars(log, batchSize))
 *             .run(10, loader, step));
 * }
 * }</pre>
 *
 * <p>A run that goes on from a checkpoint goes on with its record: {@link LogScalars} learns from the loop at which step. What the
 * record has of later steps, which are made again, is replaced. A run that begins at its first step in a folder that holds a record
 * moves that into a folder {@code earlier-1}, {@code earlier-2} ... in it: nothing is erased.
 *
 * <p>The ranks meet when the log is opened and at the end of each epoch; a step costs two readings of the clock. The first rank
 * writes, and the card is complete after each epoch, so a run that is killed leaves one that says "running". A card that cannot
 * be written is an error in the log: the training goes on. One thread of each rank uses it.
 */
public final class RunLog implements AutoCloseable {
    private static final HvdLogger LOG = HvdLogger.of(RunLog.class);

    private final HvdContext hvd;
    private final RunCardFile file;
    private final ScalarWriter scalars;
    /** The record that the folder had when this process began; only on rank 0. */
    private Earlier earlier;
    /** Whether it is known where the training goes on; only on rank 0. */
    private boolean told;

    private long stepsBefore;
    /** The step of the last epoch that this process has recorded. */
    private long lastStep;

    private final StepClock clock = new StepClock();
    private final OpenCard card;

    private RunLog(HvdContext hvd, RunDescription description, RunFacts facts, ScalarWriter scalars, Earlier earlier) {
        this.hvd = hvd;
        this.scalars = scalars;
        this.file = earlier.file;
        this.earlier = earlier;
        this.card = new OpenCard(description, facts, earlier.card);
        write();
    }

    /** The run in the folder that this one goes on with. */
    private record Earlier(RunCardFile file, boolean exists, RunCard card) {
        static Earlier none(RunCardFile file) {
            return new Earlier(file, false, null);
        }

        static Earlier read(RunCardFile file) throws IOException {
            boolean exists = new EarlierRecord(file.file().getParent()).exists();
            return new Earlier(file, exists, file.exists() ? file.read() : null);
        }
    }

    /**
     * Begins the record of a new run. A collective: every rank calls it.
     *
     * @param folder made on the host of rank 0 if it is not there
     * @throws HvdException on all ranks, if the folder holds a run already, or cannot be written
     */
    public static RunLog open(HvdContext hvd, Path folder, RunDescription description) {
        ScalarWriter scalars = ScalarWriter.open(hvd, folder);
        Earlier none = Earlier.none(RunCardFile.in(folder));
        return new RunLog(hvd, description, RunFacts.gather(hvd), scalars, none);
    }

    /**
     * Goes on with the record of a run, or begins one; where it goes on, a loop with {@link LogScalars} says by itself, and a loop of
     * one's own by {@link #goesOnAfter}. A collective: every rank calls it.
     *
     * @throws HvdException on all ranks, if the folder's files cannot be read or written
     */
    public static RunLog resume(HvdContext hvd, Path folder, RunDescription description) {
        RunCardFile file = RunCardFile.in(folder);
        Earlier earlier = FirstRank.of(hvd)
                .together("read the run in " + folder, () -> Earlier.read(file), () -> Earlier.none(file));
        ScalarWriter scalars = ScalarWriter.resumeWhole(hvd, folder);
        return new RunLog(hvd, description, RunFacts.gather(hvd), scalars, earlier);
    }

    /**
     * Does the same for a program that knows at which step it goes on.
     *
     * @param stepsDone for {@link #goesOnAfter}, unless it is 0: then the loop says it
     */
    public static RunLog resume(HvdContext hvd, Path folder, RunDescription description, long stepsDone) {
        RunLog log = resume(hvd, folder, description);
        if (stepsDone > 0) {
            log.goesOnAfter(stepsDone);
        }
        return log;
    }

    /**
     * Says at which step the training goes on. The record of later steps is left out from now on, since they are made again;
     * with 0 the whole record is kept in a folder beside the new one. A collective: every rank calls it, before the first epoch.
     *
     * @param stepsDone batches that the checkpoint has behind it, over all epochs
     * @throws HvdException on all ranks, if the folder's files cannot be written
     */
    public void goesOnAfter(long stepsDone) {
        stepsBefore = stepsDone;
        FirstRank.of(hvd)
                .together("go on with the run in " + file.file().getParent(), () -> cutAfter(stepsDone), () -> null);
        write();
    }

    private Object cutAfter(long stepsDone) throws IOException {
        told = true;
        if (stepsDone == 0 && earlier.exists) {
            beginAnew();
            earlier = Earlier.none(file);
        } else if (earlier.exists) {
            int cut = card.cutAfter(stepsDone);
            scalars.cutAfter(stepsDone);
            if (cut > 0) {
                LOG.notice(
                        "{} goes on after step {}: {} epochs that were recorded after it are made again",
                        file.file().getParent(),
                        stepsDone,
                        cut);
            }
        }
        return null;
    }

    /** The card that was found is kept with the other files, and not what this run has made of it. */
    private void beginAnew() throws IOException {
        card.beginAnew();
        Path aside = scalars.beginAnew();
        if (earlier.card != null) {
            RunCardFile.in(aside).write(earlier.card);
        }
    }

    /**
     * A loop begins on all ranks.
     *
     * @param resumed the steps that it goes on from; 0 if it does not know any
     * @return the steps that the record has behind it and the loop does not count
     */
    long loopBegins(long resumed) {
        card.loopBegins();
        long before = resumed > 0 ? 0 : Math.max(stepsBefore, lastStep);
        if (resumed > 0) {
            goesOnAfter(resumed);
        } else if (before == 0) {
            goesOnAfter(0);
        }
        return before;
    }

    /** A loop has ended; whether the run has, {@link #finished} says, unless a later run goes on with it. */
    void loopEnds(Training.Outcome end, boolean goesOnLater) {
        card.loopEnds(end);
        if (goesOnLater) {
            stopped(end.reason());
        }
    }

    /** Takes the curves of the program's own. */
    public ScalarWriter scalars() {
        return scalars;
    }

    /** Takes the times of the steps; {@link LogScalars} and {@link #timed} call it for the program. */
    public StepClock clock() {
        return clock;
    }

    /** Batches that were done before this process began, as {@link #goesOnAfter} was told; 0 in a new run. */
    public long stepsBefore() {
        return stepsBefore;
    }

    /** The batches of an epoch, for a loop of one's own, with the wait for each of them taken as a wait for data. */
    public <B> Iterable<B> timed(Iterable<B> batches) {
        return () -> new TimedBatches<>(batches.iterator(), clock);
    }

    /** Puts a warning into the run card. It counts on rank 0; one that is there already is not repeated. */
    public void warn(String warning) {
        card.warn(warning);
    }

    /**
     * Ends an epoch: writes its metrics, the held-back means, and each rank's figures since the end of the last one, and the run
     * card. A collective: every rank calls it.
     *
     * @param epoch counted from 0
     * @param step batches that are done, over all epochs
     * @param metrics by name, the same on all ranks
     */
    public void epochEnds(int epoch, long step, Map<String, Double> metrics) {
        requireGoingOn(step);
        scalars.writeMeans();
        RankFigures mine = RankFigures.of(hvd.rank(), clock.take(), Memory.peakMebibytes());
        List<RankFigures> all = hvd.allgatherObject("run.figures", mine, JsonCodec.of(RankFigures.class));
        metrics.forEach((name, value) -> scalars.addScalar(name, value, step));
        all.forEach(one -> write(one, step));
        scalars.addScalar("samples per second", Summary.of(all).samplesPerSecond(), step);
        lastStep = step;
        card.add(new EpochRow(epoch + 1, step, OpenCard.now(), new TreeMap<>(metrics), all));
        write();
    }

    private void requireGoingOn(long step) {
        long last = !told && earlier.exists ? card.lastStep() : 0;
        if (step <= last) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "an epoch that ends with step " + step + " cannot go on with the record in "
                            + file.file().getParent() + ", which goes to step " + last
                            + ": call log.goesOnAfter(the checkpoint's step) before the first epoch");
        }
    }

    private void write(RankFigures figures, long step) {
        String rank = "/rank " + figures.rank();
        scalars.addScalar("samples per second of a rank" + rank, figures.samplesPerSecond(), step);
        scalars.addScalar("share of data wait" + rank, figures.dataWaitShare(), step);
        scalars.addScalar("share of exchange" + rank, figures.exchangeShare(), step);
        scalars.addScalar("peak memory in MiB" + rank, figures.peakMemoryMib(), step);
    }

    /**
     * Runs the training, and notes on the card whether it finished or with which exception it ended, which then goes on.
     *
     * @return what the training returns
     */
    public <T> T during(Callable<T> training) throws Exception {
        try {
            T result = training.call();
            finished();
            return result;
        } catch (Throwable e) { // an OutOfMemoryError ends the run too
            failed(e);
            throw e;
        }
    }

    /** Notes that the run has come to its end, unless it was {@link #stopped}. */
    public void finished() {
        card.finished();
    }

    /** Notes that the run has ended before its end as it was asked to, and goes on later. @param why such as a signal */
    public void stopped(String why) {
        card.stopped(why);
    }

    /** Notes with what the run has ended. */
    public void failed(Throwable cause) {
        card.failed(cause);
    }

    /** Writes the card for the last time, on rank 0; no collective. A run that nobody said to be finished has failed. */
    @Override
    public void close() {
        card.close();
        write();
        scalars.close();
    }

    private void write() {
        if (hvd.rank() != 0) {
            return;
        }
        try {
            file.write(card.card(RunFacts.settings(hvd, System.getenv())));
        } catch (IOException e) {
            LOG.error("the run card is not up to date: {}", e.toString());
        }
    }
}
