package io.hvd.spi;

import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import java.nio.ByteBuffer;

/**
 * Collectives on bytes among a group of ranks, as a {@link Transport} carries them out. Every member makes the same
 * calls in the same order; a call returns when its data may be used. All buffers are direct, and every place and length
 * counts bytes from the buffer's beginning, whatever its position and limit are.
 */
public interface ByteCollectives {
    /** Gives the collectives a receiver for their activities. */
    void report(Activities to);

    /**
     * Whether {@link #allreduce} carries out such a reduction with the same bits as hvd's own reduction has. The answer is
     * the same on every rank.
     *
     * @param op an operation that travels: a sum, a product, a minimum or a maximum
     */
    boolean reduces(DType type, ReduceOp op);

    /**
     * Reduces elements in place; called only if {@link #reduces} allows it.
     *
     * @param count number of elements
     */
    void allreduce(ByteBuffer data, int count, DType type, ReduceOp op);

    /** Copies the root's first bytes to all ranks. */
    void broadcast(ByteBuffer data, int bytes, int root);

    /** Collects the same number of bytes from each rank, whose own bytes lie in their place already. */
    void allgatherInPlace(ByteBuffer data, int bytesOfEach);

    /**
     * Collects bytes from all ranks.
     *
     * @param mine this rank's bytes, at its beginning
     * @param all receives the bytes of every rank, {@code lengths} of them at {@code starts}
     */
    void allgather(ByteBuffer mine, ByteBuffer all, int[] lengths, int[] starts);

    /** Collects bytes as {@link #allgather} does, but only on the root. */
    void gather(ByteBuffer mine, ByteBuffer all, int[] lengths, int[] starts, int root);

    /**
     * Gives every rank its piece of the root's bytes.
     *
     * @param all the pieces on the root, {@code lengths} bytes at {@code starts}
     * @param mine receives this rank's piece, at its beginning
     */
    void scatter(ByteBuffer all, int[] lengths, int[] starts, ByteBuffer mine, int root);

    /** Gives every rank a piece of the same length; both buffers have the pieces one behind the other, in rank order. */
    void alltoall(ByteBuffer out, ByteBuffer in, int bytesOfEach);

    /** Gives every rank a piece, {@code outLengths} bytes at {@code outStarts}, and receives one from every rank. */
    void alltoall(ByteBuffer out, int[] outLengths, int[] outStarts, ByteBuffer in, int[] inLengths, int[] inStarts);

    /** Sends bytes to a rank that calls {@link #receive} for as many. */
    void send(ByteBuffer data, int bytes, int to);

    void receive(ByteBuffer data, int bytes, int from);
}
