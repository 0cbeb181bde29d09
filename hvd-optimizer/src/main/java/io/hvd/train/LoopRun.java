package io.hvd.train;

import io.hvd.data.EpochBatches;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.Iterator;

/**
 * One run of a loop on this rank: its epochs, batch by batch, in step with the other ranks.
 *
 * @param mostSteps steps after which it ends
 */
record LoopRun<B>(
        Training training,
        EpochMeeting meeting,
        Callbacks callbacks,
        TrainingLoop.Evaluation evaluation,
        long mostSteps,
        Iterable<B> data,
        TrainingLoop.Step<B> step) {

    void run(int firstEpoch) {
        training.beginEpoch(firstEpoch);
        callbacks.tell("before the first batch", training, Callback::trainingBegins);
        meeting.stopTogether();
        int given = training.batches();
        int epoch = training.epoch();
        while (epoch < training.epochs() && training.stopReason() == null) {
            training.beginEpoch(epoch);
            runEpoch(given);
            epoch += leaves() ? 0 : 1;
        }
        training.end(epoch);
        callbacks.tell("after the last batch", training, Callback::trainingEnds);
    }

    private boolean leaves() {
        return training.ending().leaves();
    }

    /** @param given the number of batches that the loop was told */
    private void runEpoch(int given) {
        callbacks.tell("at the beginning", training, Callback::epochBegins);
        meeting.leaveAfter(mostSteps); // a run that resumes at its limit makes no step
        if (!leaves()) {
            meeting.cancelTogether();
        }
        if (leaves()) {
            return;
        }
        Iterator<B> rest = data.iterator();
        int batches = meeting.agreeOnBatches(rest, given);
        runBatches(rest, batches);
        if (!leaves() && rest.hasNext()) {
            throw wrongNumber("more", batches);
        }
        meeting.batchesEnd();
        if (!leaves()) {
            endEpoch();
        }
    }

    private void runBatches(Iterator<B> rest, int batches) {
        while (training.batch() < batches && !leaves()) {
            if (!rest.hasNext()) {
                throw wrongNumber("only " + training.batch(), batches);
            }
            B batch = next(rest);
            meeting.stepsGoOn();
            runBatch(batch);
            meeting.cancelAfterStep();
        }
    }

    private B next(Iterator<B> rest) {
        if (rest instanceof EpochBatches.Pass<?> pass && pass.isNextReady()) {
            return rest.next();
        }
        training.pauseSavers().forEach(Training.PauseSaver::waitBegins);
        try {
            return rest.next();
        } finally {
            training.pauseSavers().forEach(Training.PauseSaver::waitEnds);
        }
    }

    private void runBatch(B batch) {
        callbacks.tell("before a batch", training, Callback::batchBegins);
        Callbacks.call("the step", "in batch " + training.batch(), training, () -> step.run(batch, training));
        training.endBatch();
        callbacks.tell("after a batch", training, Callback::batchEnds);
        meeting.leaveAfter(mostSteps);
    }

    private void endEpoch() {
        Callbacks.call("the pause", "at the end", training, meeting::pauseBegins);
        if (leaves()) {
            return;
        }
        Callbacks.call("the evaluation", "at the end", training, () -> evaluation.run(training));
        meeting.cancelTogether();
        if (leaves()) {
            return;
        }
        training.average();
        callbacks.tell("at the end", training, Callback::epochEnds);
        meeting.stopTogether();
        meeting.epochEnds();
    }

    private HvdException wrongNumber(String found, int expected) {
        return new HvdException(
                ErrorId.BAD_ARGUMENT,
                "epoch " + training.epoch() + " on rank " + training.globalRank() + ": the data gave " + found
                        + " batches, expected " + expected + ", as the loop was told on every rank");
    }
}
