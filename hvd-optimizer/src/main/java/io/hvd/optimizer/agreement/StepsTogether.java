package io.hvd.optimizer.agreement;

import io.hvd.ProcessSet;

/**
 * Says after which steps all ranks do something together. A rank that has joined makes fewer steps than the others, so
 * the count begins anew on all ranks where a join is over.
 */
public final class StepsTogether {
    private final ProcessSet set;
    private final int every;
    private int joins;
    private long steps;

    /** @param every number of steps; 0 for never */
    public StepsTogether(ProcessSet set, int every) {
        this.set = set;
        this.every = every;
        this.joins = set.forOptimizers().joins();
    }

    /** Whether it is ever time. */
    public boolean compares() {
        return every > 0;
    }

    /** Every rank comes here after every step. @return whether it is time */
    public boolean stepped() {
        if (set.forOptimizers().joins() != joins) {
            joins = set.forOptimizers().joins();
            steps = 0;
        }
        steps++;
        return every > 0 && steps % every == 0;
    }
}
