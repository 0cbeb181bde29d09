package io.hvd.optimizer;

/** An optimizer whose gradients the ranks have averaged before its step, so that no {@link DistributedOptimizer} goes around it. */
public interface AveragingOptimizer extends Optimizer {
    /** How often this object has made a step; backward passes without one, and steps that were skipped, are not counted. */
    long stepsMade();
}
