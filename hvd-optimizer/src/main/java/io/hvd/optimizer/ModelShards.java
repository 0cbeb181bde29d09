package io.hvd.optimizer;

import io.hvd.tensor.ElementRun;
import io.hvd.tensor.Shape;
import java.util.List;
import java.util.Optional;

/**
 * An optimizer of which each rank has a shard of every parameter, as that of {@code FullyShard}. Its {@link #namedState} has this rank's shards
 * of the parameters and of their state, under names that no other rank uses. {@link #loadNamedState} takes what {@link #needs} says from
 * the states of any number of ranks. {@code Checkpoints} need no more of it.
 */
public interface ModelShards extends AveragingOptimizer {
    /** The global ranks that have a shard each. */
    List<Integer> ranks();

    /**
     * The elements of a saved tensor that this rank needs; empty if none.
     *
     * @param tensor its name in the {@link #namedState} of any rank, of any number of ranks
     */
    Optional<ElementRun> needs(String tensor, Shape shape);

    /**
     * Looks at a state as {@link #loadNamedState} does, and takes nothing of it yet, so that the ranks can first tell each other whether it fits.
     *
     * @return takes it
     * @throws io.hvd.error.HvdException if it is another model's or optimizer's
     */
    Runnable prepareLoad(NamedState state);
}
