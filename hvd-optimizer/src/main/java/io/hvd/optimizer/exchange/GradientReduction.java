package io.hvd.optimizer.exchange;

import io.hvd.ProcessSet;
import io.hvd.optimizer.LocalReduction;
import io.hvd.optimizer.Parameter;
import java.util.List;
import java.util.function.DoubleSupplier;

/** How the gradients of one optimizer become those of all ranks. */
public sealed interface GradientReduction permits GradientAllreduce, ReducedGradients {
    /**
     * Prepares the reduction of gradients that travel together.
     *
     * @param bucket number of the bucket
     * @param passes number of backward passes whose sum each of them is
     */
    BucketReduction prepare(int bucket, List<Parameter> members, int passes);

    /** The ranks that take part. */
    ProcessSet set();

    /** The beginning of the names of the gradients. */
    String scope();

    /** How the gradients of several backward passes of this rank are combined. */
    LocalReduction localReduction();

    /** Whether the gradients are added up over the ranks, and not averaged. */
    boolean isSum();

    /** Whether all gradients of the next step had better start together when backward has ended. */
    default boolean travelsLate() {
        return false;
    }

    /** From now on losses are multiplied by this scale, which is asked for when gradients leave. */
    default void lossScale(DoubleSupplier scale) {}

    /** The optimizer has taken over another state. */
    default void stateLoaded() {}
}
