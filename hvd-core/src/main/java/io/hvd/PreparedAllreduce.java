package io.hvd;

import io.hvd.engine.Engine;
import io.hvd.engine.PreparedOps;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;

/**
 * An allreduce of tensors that are reduced again and again, made by {@link ProcessSet#prepareAllreduce}. It is to
 * {@link ProcessSet#allreduceInPlaceAsync} what a persistent collective of MPI 4.0 ({@code MPI_Allreduce_init}, {@code
 * MPI_Start}, {@code MPI_Wait}) is to {@code MPI_Iallreduce}.
 *
 * <pre>{@code
 * try (PreparedAllreduce bucket = hvd.prepareAllreduce(names, gradients, AllreduceOptions.average())) {
 *     for (...) {
 *         backward(gradients);
 *         bucket.start();
 *         ...
 *         bucket.await();
 *     }
 * }
 * }</pre>
 *
 * <p>Only one thread at a time may start it; any number of threads may wait. Between {@link #start()} and the end of
 * {@link #await()} the tensors belong to hvd.
 */
public final class PreparedAllreduce implements AutoCloseable {
    private final CollectiveCalls calls;
    private final Engine engine;
    private final PreparedOps prepared;
    /** The list that {@link #start()} passes on; it holds only {@link #prepared}. */
    private final List<PreparedOps> itself;

    private final long bytes;
    private final long wireBytes;
    private boolean closed;

    PreparedAllreduce(CollectiveCalls calls, Engine engine, PreparedOps prepared) {
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
     * Starts the allreduce and returns at once.
     *
     * @throws io.hvd.error.DuplicateNameException if its last start, or another operation of one of these names, is
     *     still in progress on this rank; nothing has then started
     * @throws HvdException if it has been closed, the context is closed, or the process set has been removed
     */
    public void start() {
        requireOpen();
        calls.start(itself);
    }

    /**
     * Starts several prepared allreduces of one process set together, as {@code MPI_Startall} does. They are announced
     * to the other ranks in one message, so they can travel as one. Errors are those of {@link #start()}.
     */
    public static void startAll(List<PreparedAllreduce> all) {
        if (all.isEmpty()) {
            return;
        }
        List<PreparedOps> together = new ArrayList<>(all.size());
        for (PreparedAllreduce one : all) {
            one.requireOpen();
            if (one.calls != all.get(0).calls) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        "prepared allreduces of " + all.get(0).names() + " and of " + one.names()
                                + " belong to different process sets, expected the same");
            }
            together.add(one.prepared);
        }
        all.get(0).calls.start(together);
    }

    private void requireOpen() {
        if (closed) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, "the prepared allreduce of " + names() + " was started after it was closed");
        }
    }

    /**
     * Waits until all tensors have been reduced. Returns at once if it has never been started.
     *
     * @throws HvdException the first failure of the last start, including a refusal; by then every tensor is reduced or
     *     has failed
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

    /** True if {@link #await()} would not wait. This call does not hurry the operations. */
    public boolean isDone() {
        return prepared.isDone();
    }

    /** The total size of the tensors, in bytes. */
    public long bytes() {
        return bytes;
    }

    /** The total size of the tensors in the types in which they travel, in bytes. */
    public long wireBytes() {
        return wireBytes;
    }

    /** The size of the tensors that have been reduced since the start, in bytes. */
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
}
