package io.hvd.transport.nccl.natives;

import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import java.util.function.IntConsumer;

/**
 * NCCL's communicator of a process set, whose calls are queued on one stream. Only the communication thread uses it,
 * except for {@link #abort}.
 */
public final class NcclCommunicator {
    private final NcclCalls nccl;
    private final long stream;
    private final int size;
    private final int rank;
    private final long handle;
    private volatile boolean gone;

    /**
     * Makes the communicator; all ranks of the set do so together.
     *
     * @param rank this rank's number within the set
     */
    public NcclCommunicator(NcclCalls nccl, byte[] uniqueId, int size, int rank, long stream) {
        this.nccl = nccl;
        this.stream = stream;
        this.size = size;
        this.rank = rank;
        this.handle = nccl.join(uniqueId, size, rank);
    }

    public int size() {
        return size;
    }

    public int rank() {
        return rank;
    }

    /** Runs the calls of the body as one group. */
    public void grouped(Runnable body) {
        nccl.groupStart();
        try {
            body.run();
        } catch (RuntimeException | Error e) {
            closeGroup(e);
            throw e;
        }
        nccl.groupEnd();
    }

    /**
     * Closes the group after a failure, because an open group delays every later call of this thread, even an abort.
     */
    private void closeGroup(Throwable cause) {
        try {
            nccl.groupEnd();
        } catch (RuntimeException e) {
            cause.addSuppressed(e);
        }
    }

    /** Runs the body with NCCL's number for a plain operator. */
    public void with(ReduceOp op, IntConsumer body) {
        body.accept(nccl.operator(op));
    }

    /** Runs the body with NCCL's number for a sum of values that are multiplied by a factor first. */
    public void withScaledSum(double factor, DType type, IntConsumer body) {
        if (factor == 1.0 / size) {
            body.accept(nccl.average());
            return;
        }
        int operator = nccl.createScaledSum(factor, type, handle);
        body.accept(operator);
        nccl.destroyOperator(operator, handle);
    }

    public void allReduce(long from, long to, long count, DType type, int operator) {
        nccl.allReduce(from, to, count, type, operator, handle, stream);
    }

    public void reduce(long from, long to, long count, DType type, int operator, int root) {
        nccl.reduce(from, to, count, type, operator, root, handle, stream);
    }

    public void reduceScatter(long from, long to, long count, DType type, int operator) {
        nccl.reduceScatter(from, to, count, type, operator, handle, stream);
    }

    public void broadcast(long from, long to, long bytes, int root) {
        nccl.broadcast(from, to, bytes, root, handle, stream);
    }

    public void allGather(long from, long to, long bytes) {
        nccl.allGather(from, to, bytes, handle, stream);
    }

    public void send(long from, long bytes, int to) {
        nccl.send(from, bytes, to, handle, stream);
    }

    public void receive(long to, long bytes, int from) {
        nccl.receive(to, bytes, from, handle, stream);
    }

    /** Throws if NCCL has noticed an error; does nothing after the end of the communicator. */
    public synchronized void requireSound() {
        if (!gone) {
            nccl.requireSound(handle);
        }
    }

    /** Leaves the communicator in order; every rank calls it. */
    public synchronized void close() {
        if (!gone) {
            gone = true;
            nccl.leave(handle);
        }
    }

    /**
     * Leaves the communicator without the other ranks. NCCL's abort waits for all work that is queued on the device,
     * and that may include hanging work of other communicators. Every abort therefore has a thread of its own, and hvd
     * does not wait for it.
     */
    public synchronized void abort() {
        if (!gone) {
            gone = true;
            Thread aborting = new Thread(() -> nccl.abort(handle), "hvd-nccl-abort");
            aborting.setDaemon(true);
            aborting.start();
        }
    }
}
