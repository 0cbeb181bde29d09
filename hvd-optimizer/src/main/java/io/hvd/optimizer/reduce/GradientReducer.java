package io.hvd.optimizer.reduce;

import java.util.concurrent.CompletableFuture;

/**
 * Makes the gradients of all ranks out of this rank's own, in place of an allreduce: the place for a compression of one's
 * own. {@code DistributedOptimizerBuilder.reducer} takes it.
 *
 * <pre>{@code
 * GradientReducer plain = bucket -> bucket.average(bucket.byName()).thenApply(done -> bucket);
 * }</pre>
 *
 * <p>It is called for each bucket of gradients in every step, as soon as backward has computed the last of them, on a thread of
 * the optimizer's own, while backward goes on; one call at a time. It starts the collectives of the {@link GradientBucket}
 * and returns without waiting for them: the next bucket waits for the same thread, and another rank may have its buckets
 * in another order. What is chained to the futures of the bucket runs on this thread too. {@code synchronize()} waits for the
 * future that is returned.
 *
 * <p>Beside a loss scale its gradients are those of the losses themselves, so that thresholds mean the same in every step, and
 * what it keeps from one step fits the next. What it keeps must stay finite: a gradient that is not, as in a step that a loss scale
 * skips, should never be added to it.
 *
 * <p>The collectives are matched by names, so all ranks have to ask for the same ones; whether they do is decided by what all
 * ranks have in common: the names and shapes of the bucket, its step, the results of earlier collectives.
 */
@FunctionalInterface
public interface GradientReducer {
    /**
     * Begins to reduce a bucket.
     *
     * @param bucket has this rank's gradients, which may be overwritten
     * @return the same bucket, its tensors overwritten with the averages, or one made by {@link GradientBucket#with}
     */
    CompletableFuture<GradientBucket> reduce(GradientBucket bucket);

    /** The kind of the reducer and its settings in words, which the ranks compare before the first step. */
    default String settings() {
        String name = getClass().getName();
        int lambda = name.indexOf("$$Lambda");
        return lambda < 0 ? name : name.substring(0, lambda) + "'s lambda";
    }

    /** Bytes of what this reducer keeps from one step to the next on this rank. */
    default long stateBytes() {
        return 0;
    }

    /**
     * The optimizer has taken over another state, perhaps on this rank alone: what is kept of earlier gradients is to be
     * dropped, and what all ranks have in common is not.
     */
    default void stateLoaded() {}
}
