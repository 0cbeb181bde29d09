package io.hvd.optimizer;

import io.hvd.tensor.Tensor;
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
     * optimizer refuses it. A Java array ends at 2 GiB; {@link #wholeState} has no limit.
     */
    byte[] saveState();

    /**
     * Takes over a state that {@link #saveState} of an optimizer of the same kind with the same parameters wrote.
     *
     * @throws io.hvd.error.HvdException if it does not fit, and nothing is changed
     */
    void loadState(byte[] state);

    /**
     * The state as tensors with names, which may have any size; what {@code Checkpoints} write. Of an optimizer whose state is shared
     * out to the ranks it is this rank's share.
     */
    default NamedState namedState() {
        return NamedState.ofBytes(saveState());
    }

    /**
     * Takes over a state of {@link #namedState}, or the bytes of {@link #saveState} in one. An optimizer whose state is shared out takes
     * its share from the tensors of all.
     *
     * @throws io.hvd.error.HvdException if it does not fit, and nothing is changed
     */
    default void loadNamedState(NamedState state) {
        loadState(state.bytes()
                .orElseThrow(() -> StateOwner.mismatch("it has tensors with names, such as "
                        + state.tensors().keySet().stream().findFirst().orElse("none") + ", and this optimizer ("
                        + getClass().getSimpleName() + ") knows none")));
    }

    /**
     * The state of all parameters, for a file that one rank writes and any number of ranks loads. It is {@link #namedState} unless the
     * state is shared out to the ranks.
     *
     * @throws io.hvd.error.HvdException if this rank does not have it, as before {@link ShardedOptimizer#consolidate}
     */
    default NamedState wholeState() {
        return namedState();
    }

    /** Whether this rank keeps the state of a parameter; not if another rank does, to which it was shared out. */
    default boolean keepsStateOf(String parameter) {
        return true;
    }

    /** Bytes of {@link #namedState} behind the first steps, in which many optimizers make their buffers. */
    default long fullStateBytes() {
        return namedState().tensors().values().stream().mapToLong(Tensor::bytes).sum();
    }
}
