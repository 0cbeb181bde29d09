package io.hvd.optimizer.exchange;

import io.hvd.AllreduceOptions;
import io.hvd.PreparedAllreduce;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.function.DoubleConsumer;

/**
 * The part that this rank's gradients have in the average: the samples of its batches, of those of all ranks.
 *
 * <p>The ranks add up their samples in one allreduce of 8 bytes, which starts when the last batch of the step is known,
 * before its forward, and ends before the first gradient travels. So gradients are scaled where they are copied, and
 * travel no larger than an average is.
 *
 * <p>What several backward passes have accumulated is kept in the measure of the batch that came last: what is accumulated
 * times the samples of that batch is the sum over all samples.
 */
public final class BatchWeights {
    private static final HvdLogger LOG = HvdLogger.of(BatchWeights.class);

    private final ProcessSet set;
    private final String name;
    /** Multiplies what this rank has accumulated; by 0, forgets it. */
    private final DoubleConsumer accumulated;

    private final double[] total = new double[1];
    /** Null before the first step. */
    private PreparedAllreduce allreduce;

    private int batches;
    /** The number of batches after which a backward pass counts. */
    private int counted;

    private long samples;
    private long latest;
    /** Samples of the last batch that was not empty; 0 if there was none. */
    private long measure;

    private boolean asked;
    /** NaN as long as the ranks have not agreed. */
    private double share = Double.NaN;

    public BatchWeights(ProcessSet set, String scope, DoubleConsumer accumulated) {
        this.set = set;
        this.name = scope + "samples";
        this.accumulated = accumulated;
    }

    /**
     * The next backward pass is over so many samples.
     *
     * @param isCounted whether it is one of the passes before the step
     * @param passesPerStep number of these
     */
    void batch(long count, boolean isCounted, int passesPerStep) {
        if (count < 0) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "batchSize(" + count + ") on rank " + globalRank() + ": expected 0 or more samples");
        }
        if (asked) {
            throw misuse("batchSize(" + count + ") on rank " + globalRank() + " is call " + (counted + 1)
                    + " before step(), expected " + passesPerStep
                    + ": it comes once before each backward pass. Call step() in time, or raise backwardPassesPerStep");
        }
        if (count > 0) {
            convertTo(count);
        }
        batches++;
        samples += count;
        latest = count;
        counted += isCounted ? 1 : 0;
        if (counted == passesPerStep) {
            ask();
        }
    }

    private void convertTo(long count) {
        if (batches > 0 && measure != count) {
            accumulated.accept((double) measure / count);
        }
        measure = count;
    }

    /** Whether this rank has told the others how many samples it has in this step. */
    boolean isAsked() {
        return asked;
    }

    /** True after {@link #batch} and before the end of the step. */
    boolean isUnderWay() {
        return batches > 0;
    }

    /** Whether this rank has no samples in this step, and so needs no backward. */
    boolean isEmptyHere() {
        return batches > 0 && samples == 0;
    }

    /** @throws HvdException if a gradient of no samples would be added to one of some samples */
    void requireSamples(String parameter) {
        if (latest == 0 && measure > 0) {
            throw misuse("a backward pass of \"" + parameter + "\" on rank " + globalRank()
                    + " after batchSize(0), expected none: it would change what " + samples
                    + " samples have accumulated before it");
        }
    }

    private void ask() {
        asked = true;
        total[0] = samples;
        if (set.size() > 1) {
            if (allreduce == null) {
                allreduce = set.prepareAllreduce(List.of(name), List.of(Tensor.of(total)), AllreduceOptions.sum());
            }
            allreduce.start();
        }
    }

    /**
     * The factor of this rank's accumulated gradients with which the sum over the ranks is the average over all samples.
     * It waits until all ranks have said how many samples they have; with 0 the gradients count as zeros, whatever they are.
     *
     * @throws HvdException on all ranks, if no rank has any sample
     */
    double share() {
        if (Double.isNaN(share)) {
            if (batches == 0) {
                throw misuse("step() or synchronize() on rank " + globalRank() + " of " + set.ranks()
                        + " without batchSize(n) since the last one: with weightByBatchSize() the order is"
                        + " zeroGradients(), batchSize(n), backward, step(); n is 0 on a rank without samples");
            }
            if (!asked) {
                ask(); // fewer passes than planned
            }
            share = agreed();
        }
        return share;
    }

    /** The factor that makes accumulated gradients the average over this rank's samples. */
    double mean() {
        return samples == 0 ? 0 : (double) measure / samples;
    }

    private double agreed() {
        if (allreduce != null) {
            allreduce.await();
        }
        if (total[0] == 0) {
            startOver();
            throw misuse("batchSize(0) on all ranks " + set.ranks()
                    + ": there is no average over 0 samples, and nothing was sent. End the epoch before such a step");
        }
        return measure / total[0];
    }

    /** Forgets the batches of this step. */
    void startOver() {
        if (asked && Double.isNaN(share) && allreduce != null) {
            try {
                allreduce.await();
            } catch (HvdException e) {
                LOG.debug("the sum of the ranks' samples has failed like the step", e);
            }
        }
        batches = 0;
        counted = 0;
        samples = 0;
        latest = 0;
        measure = 0;
        asked = false;
        share = Double.NaN;
    }

    /** Gives back what is prepared. */
    void close() {
        if (allreduce != null) {
            allreduce.close();
        }
    }

    private int globalRank() {
        return set.ranks().get(set.rank());
    }

    private static HvdException misuse(String how) {
        return new HvdException(ErrorId.OPTIMIZER_MISUSE, how);
    }
}
