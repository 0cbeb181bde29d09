package io.hvd.train.loop;

import io.hvd.optimizer.AveragingOptimizer;
import io.hvd.optimizer.Optimizer;

/** Counts the batches since the optimizer's last step, to leave a training where no backward pass waits for its step. */
public final class PassWindow {
    private final Optimizer optimizer;
    private long stepsMade;
    private int since;
    /** The most batches that a step has taken so far; 0 before the first one. */
    private int longest;

    public PassWindow(Optimizer optimizer) {
        this.optimizer = optimizer;
        this.stepsMade = stepsMade();
    }

    private long stepsMade() {
        return optimizer instanceof AveragingOptimizer averaging ? averaging.stepsMade() : 0;
    }

    public void batchEnds() {
        since++;
        long now = stepsMade();
        if (now != stepsMade) {
            longest = Math.max(longest, since);
            since = 0;
        }
        stepsMade = now;
    }

    /** Whether a step is to come for passes of earlier batches. */
    public boolean isOpen() {
        return since > 0 && since < longest;
    }
}
