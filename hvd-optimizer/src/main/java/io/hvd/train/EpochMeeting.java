package io.hvd.train;

import io.hvd.AllreduceOptions;
import io.hvd.ObjectCodec;
import io.hvd.ProcessSet;
import io.hvd.data.EpochBatches;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import io.hvd.train.loop.StepCounts;
import io.hvd.train.loop.StepVote;
import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.IntStream;

/** The agreements of a {@link TrainingLoop}'s ranks at the borders of its epochs and steps. */
abstract sealed class EpochMeeting {
    private static final String WHY_EVEN =
            "A TrainingLoop lets its ranks have different numbers of batches if it is told so:"
                    + " call join(JoinDivisor.ACTIVE), or choose UnevenSteps.PAD or DROP";

    final Training training;
    final StepVote vote;
    private final ProcessSet ranks;

    private EpochMeeting(Training training, StepVote vote) {
        this.training = training;
        this.vote = vote;
        this.ranks = training.ranks();
    }

    /** @param divisor null if all ranks have as many batches */
    static EpochMeeting of(Training training, JoinDivisor divisor, StepVote vote) {
        return divisor == null ? new InStep(training, vote) : new Joining(training, vote, divisor);
    }

    /** All ranks make every step together. */
    private static final class InStep extends EpochMeeting {
        InStep(Training training, StepVote vote) {
            super(training, vote);
        }

        @Override
        int agreeOnBatches(Iterator<?> epoch, int given) {
            if (!(epoch instanceof EpochBatches.Pass<?> pass)) {
                return given;
            }
            StepCounts counts = StepCounts.gather(training.ranks(), pass.batches(), 0);
            counts.requireEven(WHY_EVEN);
            requireBatches(counts.most());
            training.position().batches(counts.most(), pass);
            return pass.batches();
        }

        /** Only the rest of an epoch may have none. */
        private void requireBatches(int most) {
            if (most == 0 && training.stepsResumed() == 0) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        "epoch " + training.epoch()
                                + ": the loop's data has 0 batches on every rank, expected at least 1");
            }
        }

        @Override
        void cancelAfterStep() {
            if (!ending().leaves() && vote.afterStep() > 0 && !waitsForAStep()) {
                cancelTogether();
            }
        }

        @Override
        void batchesEnd() {}

        @Override
        void epochEnds() {}
    }

    /** A rank joins the others' steps when its batches have ended. */
    private static final class Joining extends EpochMeeting {
        private final JoinDivisor divisor;

        Joining(Training training, StepVote vote, JoinDivisor divisor) {
            super(training, vote);
            this.divisor = divisor;
        }

        @Override
        int agreeOnBatches(Iterator<?> epoch, int given) {
            EpochBatches.Pass<?> pass = epoch instanceof EpochBatches.Pass<?> known ? known : null;
            int mine = pass == null ? given : pass.batches();
            training.position()
                    .batches(StepCounts.gather(training.ranks(), mine, 0).most(), pass);
            return mine;
        }

        /** Ranks leave one by one. */
        @Override
        void cancelAfterStep() {
            String why = training.asksToCancel();
            if (why != null) {
                training.leave(why);
            }
        }

        @Override
        void batchesEnd() {
            if (training.optimizer() instanceof AmpOptimizer amp) {
                amp.join(divisor);
            } else {
                ((DistributedOptimizer) training.optimizer()).join(divisor);
            }
            List<Integer> leaving = asking("training.leave", ending().leaves());
            if (!leaving.isEmpty()) {
                cancelTogether();
            }
            if (leaving.isEmpty()) {
                training.position().joined();
            } else if (!ending().leaves()) {
                training.leave("ranks " + leaving + " have left the epoch");
            }
        }

        /** Ranks that join take part in no round of the watch. */
        @Override
        void epochEnds() {
            vote.awaitWatch();
        }
    }

    /**
     * A collective if the data is a loader's, or ranks may join.
     *
     * @param given the number that the loop was told, for data that does not know its own
     * @return the number of this rank's batches
     */
    abstract int agreeOnBatches(Iterator<?> epoch, int given);

    /** After a step: if a rank has asked for it, all of them leave the epoch. */
    abstract void cancelAfterStep();

    /** After this rank's last batch: waits for the ranks that have more, and leaves with those that leave. */
    abstract void batchesEnd();

    /** After the epoch's callbacks. */
    abstract void epochEnds();

    Ending ending() {
        return training.ending();
    }

    /** This rank has its next batch. */
    void stepsGoOn() {
        vote.resume();
    }

    /** After a step, and before the first one of an epoch. All ranks come to the limit together, and to the step of passes under way. */
    void leaveAfter(long mostSteps) {
        if (training.steps() >= mostSteps && !ending().leaves() && !waitsForAStep()) {
            ending().limitReached(mostSteps, training.position(), training.epochs());
        }
    }

    /** With several backward passes per step, the ranks make those that are left, though not more than any step has taken so far. */
    boolean waitsForAStep() {
        int[] open = {training.isBetweenPasses() ? 1 : 0};
        if (ranks.size() > 1) {
            ranks.allreduceInPlace("training.cancel.passes", Tensor.of(open), AllreduceOptions.of(ReduceOp.MAX));
        }
        return open[0] > 0;
    }

    /** After the last step of an epoch. The votes of all steps are read when a pause begins. */
    void pauseBegins() throws IOException {
        if (vote.settled() > 0) {
            cancelTogether();
            return;
        }
        if (training.pauseSavers().isEmpty()) {
            return;
        }
        for (Training.PauseSaver saver : training.pauseSavers()) {
            saver.pauseBegins();
        }
        vote.watch(training::cancelledInPause);
    }

    /** If one rank has asked for it, all of them leave the epoch. A collective. */
    void cancelTogether() {
        String mine = training.asksToCancel();
        // Empty for a rank that does not ask; a reason may be empty itself, so one letter stands in front of each.
        List<String> all =
                ranks.allgatherObject("training.cancel.reasons", mine == null ? "" : "!" + mine, ObjectCodec.utf8());
        SortedMap<Integer, String> reasons = new TreeMap<>();
        for (int place = 0; place < all.size(); place++) {
            if (!all.get(place).isEmpty()) {
                reasons.put(ranks.ranks().get(place), all.get(place).substring(1));
            }
        }
        if (!reasons.isEmpty()) {
            ending().cancelled(reasons, training.steps());
        }
    }

    /** If one rank has asked for an end, all of them end. */
    void stopTogether() {
        List<Integer> asking = asking("training.stop", training.stopReason() != null);
        if (!asking.isEmpty() && training.stopReason() == null) {
            training.stop("ranks " + asking + " have asked for it");
        }
    }

    /** The ranks of the job for which it is true. A collective. */
    List<Integer> asking(String name, boolean mine) {
        int[] all = (int[])
                ranks.allgather(name, Tensor.of(new int[] {mine ? 1 : 0})).toArray();
        return IntStream.range(0, all.length)
                .filter(place -> all[place] > 0)
                .mapToObj(place -> ranks.ranks().get(place))
                .toList();
    }
}
