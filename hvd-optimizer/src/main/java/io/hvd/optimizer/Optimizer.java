package io.hvd.optimizer;

import java.util.List;
import java.util.Map;

/** Steps parameters by their gradients; what {@link DistributedOptimizer} decorates. */
public interface Optimizer {
    /** The parameters, in one stable order on all ranks; usually this is the order of the layers. */
    List<Parameter> parameters();

    /** Moves every parameter along its gradient. */
    void step();

    /** Sets all gradients to zero. */
    void zeroGradients();

    /** The learning rate; where there are parameter groups, that of the first one. */
    double learningRate();

    /**
     * Sets the learning rate; where there are parameter groups, their ratio to the first one's stays as it is. hvd's optimizers refuse
     * one that is negative or not finite.
     */
    void learningRate(double rate);

    /**
     * The kind of the optimizer and its options in words, by the names that an error uses for them. The ranks of a
     * {@link DistributedOptimizer} compare them once, as they are when the first gradients are sent, so they must not contain anything that may
     * differ between ranks. An optimizer with options of its own adds them.
     */
    default Map<String, String> settings() {
        return Map.of("optimizer", getClass().getSimpleName(), "learning rate", Double.toString(learningRate()));
    }

    /**
     * Encodes what the steps have changed: buffers, counters and the learning rate. It does not contain momentum, betas
     * and weight decay, which the constructor sets. It says whose state it is, as {@link StateOwner} does, so that another kind of
     * optimizer refuses it.
     */
    byte[] saveState();

    /**
     * Takes over a state that {@link #saveState} of an optimizer of the same kind with the same parameters wrote.
     *
     * @throws io.hvd.error.HvdException if it does not fit, and nothing is changed
     */
    void loadState(byte[] state);
}
