package io.hvd.train;

import io.hvd.AllreduceOptions;
import io.hvd.ObjectCodec;
import io.hvd.ProcessSet;
import io.hvd.data.EpochBatches;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Optimizer;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * What the ranks of a {@link TrainingLoop} agree on when an epoch begins and ends.
 *
 * @param divisor null if all ranks have as many batches
 * @param vote on a cancel
 */
record EpochMeeting(ProcessSet ranks, Optimizer optimizer, JoinDivisor divisor, StepVote vote) {
    private static final String WHY_EVEN =
            "A TrainingLoop lets its ranks have different numbers of batches if it is told so:"
                    + " call join(JoinDivisor.ACTIVE), or choose UnevenSteps.PAD or DROP";

    /** Refuses what cannot go on without ranks that have joined. */
    static void requireJoinable(List<Callback> callbacks, Optimizer optimizer, JoinDivisor divisor) {
        List<String> meeting = callbacks.stream()
                .filter(Callback::meetsInBatches)
                .map(TrainingLoop::name)
                .toList();
        if (divisor != null && !meeting.isEmpty()) {
            throw new HvdException(
                    ErrorId.UNEVEN_STEPS,
                    "a TrainingLoop with join(" + divisor + ") has the callbacks " + meeting
                            + ", which meet all ranks after each batch, and ranks that have joined do not come. Leave them out, or"
                            + " give all ranks as many batches by UnevenSteps.PAD or DROP. SaveCheckpoint saves after epochs");
        }
        if (divisor != null && !(optimizer instanceof AmpOptimizer || optimizer instanceof DistributedOptimizer)) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "a TrainingLoop with join(" + divisor
                            + ") needs a DistributedOptimizer or an AmpOptimizer, found "
                            + optimizer.getClass().getName());
        }
    }

    /**
     * A collective if the data is a loader's, or ranks may join.
     *
     * @param given what the loop was told, for data that does not know its number
     * @return the number of this rank's batches
     */
    int agreeOnBatches(Training training, Iterator<?> epoch, int given) {
        EpochBatches.Pass<?> pass = epoch instanceof EpochBatches.Pass<?> known ? known : null;
        int mine = pass == null ? given : pass.batches();
        if (pass == null && divisor == null) {
            return mine;
        }
        StepCounts counts = StepCounts.gather(ranks, mine, 0);
        if (divisor == null) {
            counts.requireEven(WHY_EVEN);
        }
        training.batches(counts.most(), pass);
        return mine;
    }

    /** After this rank's last batch: waits for the ranks that have more, and leaves with those that leave. */
    void join(Training training) {
        if (divisor == null) {
            return;
        }
        if (optimizer instanceof AmpOptimizer amp) {
            amp.join(divisor);
        } else {
            ((DistributedOptimizer) optimizer).join(divisor);
        }
        List<Integer> leaving = asking("training.leave", training.leaves());
        if (!leaving.isEmpty()) {
            cancelTogether(training);
        }
        if (leaving.isEmpty()) {
            training.joined();
        } else if (!training.leaves()) {
            training.leave("ranks " + leaving + " have left the epoch");
        }
    }

    /** After a step: if a rank has asked for it, all of them leave the epoch. Ranks that may join leave it one by one. */
    void cancelAfterStep(Training training) {
        if (divisor != null) {
            String why = training.asksToCancel();
            if (why != null) {
                training.leave(why);
            }
        } else if (!training.leaves() && vote.afterStep() > 0 && !waitsForAStep(training)) {
            cancelTogether(training);
        }
    }

    /** After a step, and before the first one of an epoch. All ranks come to the limit together, and to the step of passes under way. */
    void leaveAfter(long mostSteps, Training training) {
        if (training.steps() >= mostSteps && !training.leaves() && !waitsForAStep(training)) {
            training.leaveAfter(mostSteps);
        }
    }

    /** With several backward passes per step, the ranks make those that are left, though not more than any step has taken so far. */
    private boolean waitsForAStep(Training training) {
        int[] open = {training.isBetweenPasses() ? 1 : 0};
        if (ranks.size() > 1) {
            ranks.allreduceInPlace("training.cancel.passes", Tensor.of(open), AllreduceOptions.of(ReduceOp.MAX));
        }
        return open[0] > 0;
    }

    /** After the last step of an epoch. The votes of all steps are read when a pause begins. */
    void pauseBegins(Training training) throws IOException {
        if (vote.settled() > 0) {
            cancelTogether(training);
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
    void cancelTogether(Training training) {
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
            training.cancelled(reasons);
        }
    }

    /** If one rank has asked for an end, all of them end. */
    void stopTogether(Training training) {
        List<Integer> asking = asking("training.stop", training.stopReason() != null);
        if (!asking.isEmpty() && training.stopReason() == null) {
            training.stop("ranks " + asking + " have asked for it");
        }
    }

    private List<Integer> asking(String name, boolean mine) {
        int[] all = (int[])
                ranks.allgather(name, Tensor.of(new int[] {mine ? 1 : 0})).toArray();
        return IntStream.range(0, all.length)
                .filter(place -> all[place] > 0)
                .mapToObj(place -> ranks.ranks().get(place))
                .toList();
    }
}
