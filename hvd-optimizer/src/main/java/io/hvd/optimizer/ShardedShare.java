package io.hvd.optimizer;

import java.util.List;
import java.util.Map;

/** An optimizer that steps one rank's share of a model's parameters, and so keeps the state of this share only. */
public interface ShardedShare {
    /** Steps the parameters of the share. */
    void step();

    /** The rate of its first parameter group. */
    double learningRate();

    /** Sets the rate of all its parameter groups. */
    void learningRate(double rate);

    /** The settings that all ranks have in common. */
    Map<String, String> settings();

    /** Bytes of the buffers that the share has by now. */
    long stateBytes();

    /** The state of the share, with the names of the whole model's parameters. */
    NamedState named();

    /**
     * Takes over a state of the share's parameters, or the bytes of one.
     *
     * @throws io.hvd.error.HvdException if it does not fit; then nothing is changed
     */
    void load(NamedState share);

    /** Bytes of {@link #named} behind the first steps. */
    long fullStateBytes();

    /** The state of a share that has all parameters, as {@link Optimizer#saveState} of an optimizer that is not sharded writes it. */
    byte[] save();

    /**
     * Makes the state of an optimizer that is not sharded, of the very tensors of the parts. The parameters of none begin anew.
     *
     * @param parts of any dealing of the same parameters, each of other ones; the first has the learning rate
     */
    NamedState join(List<NamedState> parts);
}
