package io.hvd.train;

import io.hvd.ProcessSet;
import io.hvd.data.EpochLengths;
import io.hvd.train.loop.DealtRanks;
import io.hvd.train.loop.StepCounts;

/**
 * The choice at the start of an epoch in which the ranks have different numbers of steps. Without one, ranks with more steps would wait for the others for ever.
 */
public enum UnevenSteps {
    /** An error on all ranks, which names each rank's number. */
    REFUSE,
    /** Ranks with fewer steps repeat samples until all have as many as the rank with most. */
    PAD,
    /** All ranks end after as many steps as the rank with fewest has. */
    DROP,
    /** Every rank makes its own steps, and the program calls {@code join} after its last one. */
    JOIN;

    /**
     * Compares the ranks' numbers of steps, for a program with a loop of its own. A collective of 8 bytes per rank.
     *
     * @param mine number of steps of this rank
     * @return the number of steps that this rank is to make; with {@link #PAD} it may be more than it has data for
     * @throws io.hvd.error.HvdException on all ranks, if they are not the same and {@link #REFUSE} was chosen, or a rank has
     *     none beside others that have some and {@link #PAD} or {@link #DROP} was chosen
     */
    public int steps(ProcessSet set, int mine) {
        if (mine < 0) {
            throw new IllegalArgumentException("steps must not be negative, found " + mine);
        }
        return agreed(StepCounts.gather(set, mine, mine), mine);
    }

    /**
     * For the {@code evenSteps} of a loader: does the same at the start of every epoch. A rank outside of the set compares
     * nothing.
     */
    public EpochLengths among(ProcessSet set) {
        return new DealtRanks(set, this::agreed);
    }

    private int agreed(StepCounts counts, int mine) {
        if (counts.most() == counts.least() || this == JOIN) {
            return mine;
        }
        if (this == REFUSE) {
            throw counts.uneven(
                    "A rank with more steps would wait for the others for ever: choose UnevenSteps.PAD, DROP"
                            + " or JOIN, or deal the samples out evenly, as DistributedSampler does");
        }
        if (counts.least() == 0) {
            throw counts.uneven(
                    this == PAD
                            ? "UnevenSteps.PAD has no sample to repeat on a rank with 0 steps: choose JOIN"
                            : "UnevenSteps.DROP would leave out the whole epoch: choose JOIN");
        }
        return this == PAD ? counts.most() : counts.least();
    }
}
