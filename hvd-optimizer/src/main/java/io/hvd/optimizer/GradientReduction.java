package io.hvd.optimizer;

import java.util.List;

/** How the gradients of one optimizer become those of all ranks. */
sealed interface GradientReduction permits GradientAllreduce, ReducedGradients {
    /**
     * Prepares the reduction of gradients that travel together.
     *
     * @param bucket number of the bucket
     * @param passes number of backward passes whose sum each of them is
     */
    BucketReduction prepare(int bucket, List<Parameter> members, int passes);

    /** The optimizer has taken over another state. */
    default void stateLoaded() {}
}
