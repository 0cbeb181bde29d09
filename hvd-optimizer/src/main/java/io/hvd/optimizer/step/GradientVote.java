package io.hvd.optimizer.step;

import io.hvd.optimizer.exchange.LocalParameters;
import io.hvd.optimizer.precision.OverflowVote;

/** The vote of the ranks on the gradients of a step, in one small allreduce. */
public record GradientVote(OverflowVote vote, LocalParameters.Norms norms) {
    /**
     * Every rank comes here in the same step.
     *
     * @param overflow whether this rank has found a number that is not finite
     * @param scale by which this rank has multiplied its losses
     * @param withNorm whether the norm is to be known, too
     */
    public OverflowVote.Verdict agree(boolean overflow, double scale, boolean withNorm) {
        return withNorm
                ? vote.agree(overflow, scale, norms.shared(), norms.localSquares())
                : vote.agree(overflow, scale, 0, 0);
    }

    /**
     * The norm of the averaged gradients and the local ones of all ranks, the same on all ranks to the last bit; with ADASUM that of
     * this rank's own. Every rank asks for it.
     */
    public double norm() {
        return agree(false, 1, true).norm();
    }
}
