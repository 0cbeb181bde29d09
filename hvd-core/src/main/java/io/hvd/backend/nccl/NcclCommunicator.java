package io.hvd.backend.nccl;

import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import java.util.function.IntConsumer;

/** The ranks of a process set as NCCL knows them; what is called is queued on one stream. Communication thread. */
final class NcclCommunicator {
    private final NcclCalls nccl;
    private final long stream;
    private final int size;
    private final int rank;
    private final long handle;
    private volatile boolean gone;

    /**
     * All ranks of the set come here together.
     *
     * @param rank this rank's number within the set
     */
    NcclCommunicator(NcclCalls nccl, byte[] uniqueId, int size, int rank, long stream) {
        this.nccl = nccl;
        this.stream = stream;
        this.size = size;
        this.rank = rank;
        this.handle = nccl.join(uniqueId, size, rank);
    }

    int size() {
        return size;
    }

    int rank() {
        return rank;
    }

    /** Runs the calls of the body as one. */
    void grouped(Runnable body) {
        nccl.groupStart();
        try {
            body.run();
        } catch (RuntimeException | Error e) {
            closeGroup(e);
            throw e;
        }
        nccl.groupEnd();
    }

    /** An open group would put off every later call of this thread, an abort too. */
    private void closeGroup(Throwable cause) {
        try {
            nccl.groupEnd();
        } catch (RuntimeException e) {
            cause.addSuppressed(e);
        }
    }

    /** Hands out the number of a plain operator. */
    void with(ReduceOp op, IntConsumer body) {
        body.accept(nccl.operator(op));
    }

    /** Hands out the number of a sum whose result is that of summing multiplied values. */
    void withScaledSum(double factor, DType type, IntConsumer body) {
        if (factor == 1.0 / size) {
            body.accept(nccl.average());
            return;
        }
        int operator = nccl.createScaledSum(factor, type, handle);
        body.accept(operator);
        nccl.destroyOperator(operator, handle);
    }

    void allReduce(long from, long to, long count, DType type, int operator) {
        nccl.allReduce(from, to, count, type, operator, handle, stream);
    }

    void reduce(long from, long to, long count, DType type, int operator, int root) {
        nccl.reduce(from, to, count, type, operator, root, handle, stream);
    }

    void reduceScatter(long from, long to, long count, DType type, int operator) {
        nccl.reduceScatter(from, to, count, type, operator, handle, stream);
    }

    void broadcast(long from, long to, long bytes, int root) {
        nccl.broadcast(from, to, bytes, root, handle, stream);
    }

    void allGather(long from, long to, long bytes) {
        nccl.allGather(from, to, bytes, handle, stream);
    }

    void send(long from, long bytes, int to) {
        nccl.send(from, bytes, to, handle, stream);
    }

    void receive(long to, long bytes, int from) {
        nccl.receive(to, bytes, from, handle, stream);
    }

    /** Throws if something has gone wrong since; there is nobody to ask after the end. */
    synchronized void requireSound() {
        if (!gone) {
            nccl.requireSound(handle);
        }
    }

    /** Every rank leaves. */
    synchronized void close() {
        if (!gone) {
            gone = true;
            nccl.leave(handle);
        }
    }

    /**
     * This rank leaves, whatever the others do. NCCL waits in it for all that is queued on the device, work of other
     * communicators that hang too among it: so every abort has a thread of its own, and nobody waits for it.
     */
    synchronized void abort() {
        if (!gone) {
            gone = true;
            Thread aborting = new Thread(() -> nccl.abort(handle), "hvd-nccl-abort");
            aborting.setDaemon(true);
            aborting.start();
        }
    }
}
