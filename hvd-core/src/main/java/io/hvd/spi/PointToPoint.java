package io.hvd.spi;

import io.hvd.tensor.Tensor;

/** Tensors that go from one rank of a process set to another. Ranks are numbered within the set. */
public interface PointToPoint extends AutoCloseable {
    /** Gives the data plane a receiver for its activities; a data plane without activities may ignore it. */
    void report(Activities to);

    /** Sends a tensor to the rank {@code to}, which calls {@link #receive} at the same time. */
    void send(Tensor tensor, int to);

    void receive(Tensor tensor, int from);

    /** Gives up what is under way because the job has failed; the other ranks need not make this call. */
    void abandon();

    /** Releases what belongs to this set alone; every member calls it. */
    @Override
    void close();
}
