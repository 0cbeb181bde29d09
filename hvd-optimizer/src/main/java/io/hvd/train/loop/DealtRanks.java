package io.hvd.train.loop;

import io.hvd.ProcessSet;
import io.hvd.data.EpochLengths;
import io.hvd.log.HvdLogger;

/**
 * Warns once of samples that are dealt to another number of ranks than step together: some would be left out, or ranks would train on the
 * same.
 */
public final class DealtRanks implements EpochLengths {
    /** Decides from all ranks' numbers of steps how many one of them makes. */
    public interface Agreement {
        /** @param mine number of steps of this rank */
        int steps(StepCounts counts, int mine);
    }

    private static final HvdLogger LOG = HvdLogger.of(DealtRanks.class);

    private final ProcessSet set;
    private final Agreement agreement;
    private boolean looked;

    public DealtRanks(ProcessSet set, Agreement agreement) {
        this.set = set;
        this.agreement = agreement;
    }

    @Override
    public Agreed agree(int batches, int samples) {
        StepCounts counts = StepCounts.gather(set, batches, samples);
        return new Agreed(agreement.steps(counts, batches), counts.mostSamples());
    }

    @Override
    public void requireFor(int replicas) {
        if (!looked) {
            looked = true;
            look(set, replicas);
        }
    }

    /** @param replicas 0 if it is not known */
    public static void look(ProcessSet set, int replicas) {
        if (replicas > 0 && set.included() && replicas != set.size()) {
            LOG.warn(
                    "rank {} gets samples of a sampler that was made for {} rank(s), but {} rank(s) step together: {}. Make the"
                            + " sampler with the size and the rank of these. The training is at {}",
                    set.ranks().get(set.rank()),
                    replicas,
                    set.size(),
                    replicas > set.size()
                            ? "no rank sees the samples that it deals to the others"
                            : "ranks see the same samples",
                    set.forOptimizers().callerLine());
        }
    }
}
