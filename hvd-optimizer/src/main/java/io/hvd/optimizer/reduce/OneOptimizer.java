package io.hvd.optimizer.reduce;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;

/** Keeps a reducer with a memory to one optimizer of one rank: two would mix what they have left out of their gradients. */
final class OneOptimizer {
    private final GradientReducer reducer;
    private ProcessSet ranks;
    private String scope;

    OneOptimizer(GradientReducer reducer) {
        this.reducer = reducer;
    }

    synchronized void require(GradientBucket bucket) {
        String name = bucket.name();
        String itsScope = name.substring(0, name.lastIndexOf('.'));
        if (ranks == null || !ranks.forOptimizers().isInOpenJob()) { // an optimizer may go on in the next generation
            ranks = bucket.ranks();
            scope = itsScope;
        }
        if (ranks != bucket.ranks() || !scope.equals(itsScope)) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    reducer.getClass().getSimpleName() + " keeps what it has left out of earlier gradients, for the"
                            + " optimizer with the buckets \"" + scope + ".*\" of rank " + ranks.rank()
                            + ", and got bucket \"" + name + "\" of rank "
                            + bucket.ranks().rank()
                            + ". Make a reducer for each optimizer and each rank");
        }
    }
}
