package io.hvd.optimizer;

import java.util.List;

/** Steps parameters by their gradients; what {@link DistributedOptimizer} decorates. */
public interface Optimizer {
    /** In a stable order, the same on every rank; usually the order of the layers. */
    List<Parameter> parameters();

    /** Moves every parameter along its gradient. */
    void step();

    void zeroGradients();

    double learningRate();

    void learningRate(double rate);

    /** What steps have left behind: buffers, counters and the learning rate. Momentum, betas and weight decay are the constructor's. */
    byte[] saveState();

    /**
     * Takes over a state that {@link #saveState} of an optimizer with the same parameters wrote.
     *
     * @throws io.hvd.error.HvdException if it does not fit, and nothing is changed
     */
    void loadState(byte[] state);
}
