package io.hvd.optimizer;

import java.util.List;

/**
 * The parameters of a whole model, whose optimizer's state is shared out to the ranks; what {@link ShardedOptimizer} works on. It makes
 * the optimizer of one rank's share, a {@link ShardedShare}, and another one when the state is dealt to other ranks.
 */
public interface ShardedState {
    /** Those of the whole model, in the same order on all ranks. */
    List<Parameter> parameters();

    /** Clears the gradients of all parameters. */
    void zeroGradients();

    /** The rank within the process set that steps each parameter, if the set has so many ranks. */
    int[] owners(int ranks);

    /**
     * Makes the optimizer of one rank's share, which has no state yet. Shares that were made before stay as they are.
     *
     * @param owners of the parameters
     * @param rank within the process set
     */
    ShardedShare deal(int[] owners, int rank);
}
