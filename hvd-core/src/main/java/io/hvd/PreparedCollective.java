package io.hvd;

import io.hvd.engine.Engine;
import io.hvd.engine.submission.PreparedOps;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.OpKind;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;

/**
 * A collective of some tensors that is started again and again, like a persistent collective of MPI 4.0. A {@link
 * ProcessSet} makes it: {@link ProcessSet#prepareAllreduce}, {@link ProcessSet#prepareBroadcast}, {@link
 * ProcessSet#prepareAllgather} or {@link ProcessSet#prepareReducescatter}. What a call needs is then made only once, so
 * that a start looks nothing up and makes no new requests.
 *
 * <p>Only one thread at a time may start it; any number of threads may wait. Between {@link #start()} and the end of
 * {@link #await()} the tensors belong to hvd.
 */
public sealed class PreparedCollective implements AutoCloseable permits PreparedAllreduce {
    private final OpKind kind;
    private final CollectiveCalls calls;
    private final Engine engine;
    private final PreparedOps prepared;
    /** The list that {@link #start()} passes on; it holds only {@link #prepared}. */
    private final List<PreparedOps> itself;

    private final long bytes;
    private final long wireBytes;
    private boolean closed;

    PreparedCollective(OpKind kind, CollectiveCalls calls, Engine engine, PreparedOps prepared) {
        this.kind = kind;
        this.calls = calls;
        this.engine = engine;
        this.prepared = prepared;
        this.itself = List.of(prepared);
        this.bytes = prepared.bytes();
        this.wireBytes = prepared.wireBytes();
    }

    /** The names of the tensors, in the order in which they were prepared. */
    public List<String> names() {
        return prepared.names();
    }

    /**
     * Starts the collective and returns at once.
     *
     * @throws io.hvd.error.DuplicateNameException if its last start, or another operation of one of these names, is
     *     still in progress on this rank; nothing has then started
     * @throws HvdException if it has been closed, the context is closed, or the process set has been removed
     */
    public void start() {
        requireOpen();
        calls.start(kind, itself);
    }

    /**
     * Starts several prepared collectives of one process set together, as {@code MPI_Startall} does. They are announced
     * to the other ranks in one message, so allreduces, and broadcasts from one root, can travel as one. Errors are
     * those of {@link #start()}.
     */
    public static void startAll(List<? extends PreparedCollective> all) {
        if (!all.isEmpty()) {
            PreparedCollective first = all.get(0);
            first.calls.start(first.kind, together(all));
        }
    }

    /**
     * As {@link #startAll}, on a thread that calls {@link #await()} of all of them next. It may carry them out itself before this
     * returns, for which it waits for the other ranks.
     */
    public static void startAllAwaited(List<? extends PreparedCollective> all) {
        if (!all.isEmpty()) {
            PreparedCollective first = all.get(0);
            first.calls.startAwaited(first.kind, together(all));
        }
    }

    private static List<PreparedOps> together(List<? extends PreparedCollective> all) {
        PreparedCollective first = all.get(0);
        List<PreparedOps> together = new ArrayList<>(all.size());
        for (PreparedCollective one : all) {
            one.requireOpen();
            if (one.calls != first.calls) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        first + " and " + one + " belong to different process sets, expected the same");
            }
            together.add(one.prepared);
        }
        return together;
    }

    private void requireOpen() {
        if (closed) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, this + " was started after it was closed");
        }
    }

    /**
     * Waits until the collective has ended for all tensors. Returns at once if it has never been started.
     *
     * @throws HvdException the first failure of the last start, including a refusal; by then the collective of every
     *     tensor has ended or failed
     */
    public void await() {
        engine.await(prepared);
        try {
            prepared.requireSuccess();
        } catch (CompletionException e) {
            if (e.getCause() instanceof HvdException known) {
                throw known.seenHere();
            }
            throw e;
        }
    }

    /**
     * Waits as {@link #await()} does, and returns the results of the last start, in the order of the names. They are the
     * prepared tensors themselves where the collective overwrites these; an allgather and a reducescatter make new
     * tensors in every start.
     *
     * @throws HvdException as from {@link #await()}; or if there is no result, because it has never been started
     */
    public List<Tensor> results() {
        await();
        return prepared.outputs()
                .orElseThrow(() -> new HvdException(
                        ErrorId.BAD_ARGUMENT, this + " has no results, because it has not been started"));
    }

    /** True if {@link #await()} would not wait. This call does not hurry the operations. */
    public boolean isDone() {
        return prepared.isDone();
    }

    /** The total size of the prepared tensors, in bytes. */
    public long bytes() {
        return bytes;
    }

    /** The total size of the prepared tensors in the types in which they travel, in bytes. */
    public long wireBytes() {
        return wireBytes;
    }

    /** The size of the prepared tensors whose collective has succeeded since the start, in bytes. */
    public long bytesDone() {
        return prepared.bytesDone();
    }

    /** Waits until the operations of the last start have ended or failed, and releases their resources. */
    @Override
    public void close() {
        if (!closed) {
            closed = true;
            engine.await(prepared);
            engine.release(prepared);
        }
    }

    @Override
    public String toString() {
        return "the prepared " + kind + " of " + names();
    }
}
