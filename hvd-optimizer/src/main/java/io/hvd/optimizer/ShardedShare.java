package io.hvd.optimizer;

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

    /** Takes over a state of the share's parameters. @throws io.hvd.error.HvdException if it does not fit; then nothing is changed */
    void load(NamedState share);

    /** Bytes of {@link #named} behind the first steps. */
    long fullStateBytes();

    /** The state of the share, for {@link #join}. */
    byte[] save();

    /**
     * Makes the state of an optimizer that is not sharded, as its {@link Optimizer#saveState} writes it.
     *
     * @param shares of any dealing of the same parameters
     * @throws io.hvd.error.HvdException if the state that stands in for lost shares is another optimizer's
     */
    byte[] join(JoinedShares shares);

    /** Takes the share from a whole state. @throws io.hvd.error.HvdException if it does not fit; then nothing is changed */
    void load(byte[] whole);
}
