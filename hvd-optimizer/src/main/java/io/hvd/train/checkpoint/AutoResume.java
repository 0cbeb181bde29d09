package io.hvd.train.checkpoint;

import io.hvd.data.ResumableSampler;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.train.Callback;
import io.hvd.train.Training;
import java.io.IOException;
import java.util.Objects;
import java.util.Optional;

/**
 * Makes a {@code TrainingLoop} go on where the last run has ended, in the middle of an epoch too and with any number of ranks,
 * and saves every so many steps. When a rank gets SIGTERM, or calls {@link Training#cancel}, all of them leave the loop after the next
 * step and save, so that the program ends as after its last epoch; {@link #wasTerminated} tells the difference. During an evaluation
 * they save at once, and leave behind it.
 *
 * <pre>{@code
 * var autoResume = AutoResume.everySteps(500, checkpoints, sampler);
 * TrainingLoop.of(hvd, optimizer).with(autoResume)...run(epochs, loader, step);
 * }</pre>
 *
 * <p>The sampler, an {@code ElasticSampler} or another one that can say where it is, is one of the checkpoints' parts: {@code Checkpoints.in(...).with("sampler", sampler)}. One batch of the
 * loader is one step. A checkpoint that is due with the last batch of an epoch is saved after the evaluation.
 */
public final class AutoResume implements Callback, Training.PauseSaver {
    private static final String SENT = Training.SIGTERM + " has come";
    private static final String RAISED = Training.SIGTERM + " was raised by the program";

    private final int every;
    private final Checkpoints checkpoints;
    private final ResumableSampler sampler;
    /** Null outside of a loop. */
    private TerminationSignal signal;
    /** Null before the first loop. */
    private Training training;
    /** Null if the loop begins to listen. */
    private TerminationSignal early;

    /** Null before the first loop. */
    private WaitWatch waits;

    private long stepsBefore;
    /** Whether a checkpoint is to be written at the next occasion. */
    private boolean due;

    private AutoResume(int every, Checkpoints checkpoints, ResumableSampler sampler) {
        this.every = every;
        this.checkpoints = Objects.requireNonNull(checkpoints, "checkpoints");
        this.sampler = Objects.requireNonNull(sampler, "sampler");
    }

    /**
     * @param steps after which the next checkpoint is due
     * @param checkpoints which the program closes
     * @param sampler of the loop's loader
     */
    public static AutoResume everySteps(int steps, Checkpoints checkpoints, ResumableSampler sampler) {
        if (steps < 1) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, "AutoResume.everySteps(" + steps + "): expected at least 1");
        }
        return new AutoResume(steps, checkpoints, sampler);
    }

    /**
     * Takes what this rank has heard before the loop, so that SIGTERM does not end the process while it loads its data: a program calls
     * {@link TerminationSignal#listen} after {@code Hvd.init}, and the loop then ends after its first steps.
     *
     * @param signal which the loop closes
     */
    public AutoResume listening(TerminationSignal signal) {
        early = Objects.requireNonNull(signal, "signal");
        return this;
    }

    /** This rank's signal while the loop runs; a program may {@link TerminationSignal#raise} it. */
    public TerminationSignal signal() {
        return signal;
    }

    /** Whether the last loop has ended because of SIGTERM on any rank. */
    public boolean wasTerminated() {
        return training != null
                && training.cancelReasons().values().stream().anyMatch(why -> why.equals(SENT) || why.equals(RAISED));
    }

    private String asksToCancel() {
        if (signal.wasSent()) {
            return SENT;
        }
        return signal.hasArrived() ? RAISED : null;
    }

    @Override
    public Place place() {
        return Place.RESUME;
    }

    /** The ranks save together. */
    @Override
    public boolean meetsInBatches() {
        return true;
    }

    @Override
    public void trainingBegins(Training begun) throws IOException {
        training = begun;
        due = false;
        signal = early == null ? TerminationSignal.listen() : early;
        early = null; // it is closed with this loop
        training.cancelWhen(this::asksToCancel);
        training.saveInPauses(this);
        Optional<Manifest> found = checkpoints.resumeLatest();
        if (found.isPresent()) {
            training.resumeAt(found.get().epoch(), sampler.done(), found.get().step());
        } else {
            sampler.setEpoch(training.epoch());
        }
        stepsBefore = training.steps();
        waits = new WaitWatch(() -> training.asksToCancel() != null, checkpoints::saveWaiting);
        if (training.epoch() < training.epochs()) {
            checkpoints.requireWritable();
        }
    }

    @Override
    public void batchEnds(Training training) throws IOException {
        due |= isDue(training);
        if (due && training.batch() < training.batches() && !training.isBetweenPasses()) {
            due = false;
            training.requireSavable();
            checkpoints.save(training.steps(), training.epoch());
        }
    }

    /** The state behind the last step of an epoch, which an evaluation may change for its time. */
    @Override
    public void pauseBegins() throws IOException {
        training.requireSavable();
        checkpoints.prepare(training.steps(), training.epoch());
    }

    @Override
    public void cancelledInPause() {
        checkpoints.savePrepared();
    }

    @Override
    public void waitBegins() {
        if (training.isSavableUnasked() && !training.isBetweenPasses() && training.steps() > stepsBefore) {
            checkpoints.waitBegins(training.steps(), training.epoch());
        }
    }

    @Override
    public void waitEnds() {
        checkpoints.waitEnds();
    }

    private boolean isDue(Training training) {
        return training.steps() % every == 0;
    }

    @Override
    public void epochEnds(Training training) throws IOException {
        sampler.setEpoch(training.epoch() + 1);
        if ((due || isDue(training)) && training.epoch() + 1 < training.epochs()) {
            due = false;
            checkpoints.save(training.steps(), training.epoch() + 1);
        }
    }

    @Override
    public void trainingEnds(Training training) throws IOException {
        waits.close();
        if (!training.cancelReasons().containsValue(SENT)) {
            signal.close(); // else the process is about to end, and a late signal must not end it with an error
        }
        if (training.steps() > stepsBefore) {
            training.requireSavable();
            checkpoints.saveAndWait(training.steps(), training.epoch());
        }
    }

    /** The process ends at SIGTERM again, as it did before the loop. */
    @Override
    public void trainingFails(Training training) {
        if (waits != null) {
            waits.close();
        }
        if (signal != null) {
            signal.close();
        } else if (early != null) {
            early.close();
        }
    }
}
