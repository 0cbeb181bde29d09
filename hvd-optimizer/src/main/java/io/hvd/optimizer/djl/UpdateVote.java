package io.hvd.optimizer.djl;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;

/** The question of all ranks to each other before a step, in an allreduce of 24 bytes: whether a listener has thrown, and the learning rate. */
final class UpdateVote {
    private final HvdContext hvd;

    UpdateVote(HvdContext hvd) {
        this.hvd = hvd;
    }

    /**
     * A collective.
     *
     * @param thrown whether a listener of this rank has thrown
     * @param rate the learning rate of this rank's next step; NaN if it is not known
     * @return whether a listener of any rank has thrown
     * @throws HvdException on all ranks, if their rates differ
     */
    boolean anyHasThrown(boolean thrown, double rate) {
        if (hvd.size() == 1) {
            return thrown;
        }
        double known = Double.isNaN(rate) ? 0 : rate;
        Tensor mine = Tensor.of(thrown ? 1 : 0, known, -known);
        double[] largest = (double[]) hvd.allreduce("djl.vote", mine, AllreduceOptions.of(ReduceOp.MAX))
                .toArray();
        if (largest[0] == 0 && largest[1] != -largest[2]) {
            throw new HvdException(
                    ErrorId.DIFFERENT_SETTINGS,
                    "the learning rates of the next step are between " + -largest[2] + " and " + largest[1] + ", rank "
                            + hvd.rank() + " has " + rate
                            + ": the trackers must give the same rates on all ranks, and so must not depend on what"
                            + " one rank alone has seen");
        }
        return largest[0] != 0;
    }
}
