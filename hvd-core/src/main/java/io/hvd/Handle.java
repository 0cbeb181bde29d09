package io.hvd;

import io.hvd.engine.Engine;
import io.hvd.engine.submission.Outcome;
import io.hvd.engine.submission.PendingOp;
import io.hvd.error.HvdException;
import io.hvd.job.UnreadResults;
import io.hvd.tensor.Tensor;
import java.util.concurrent.CompletionException;

/** A collective in progress. Its tensors belong to hvd until {@link #synchronize()} returns. */
public final class Handle {
    private final PendingOp op;
    private final Engine engine;
    /** Null if the program need not read the result, because the result is one of its own tensors. */
    private final UnreadResults unread;

    private volatile boolean expected;
    /** Whether the engine has been told; two threads may both tell it, which does no harm. */
    private boolean observed;

    Handle(PendingOp op, Engine engine, UnreadResults unread) {
        this.op = op;
        this.engine = engine;
        this.unread = unread;
    }

    /** The name of the operation: the program's, or a generated one. */
    public String name() {
        return op.name();
    }

    /** True if {@link #synchronize()} would not wait. Unlike {@link #poll()} it does not hurry the operation. */
    public boolean isDone() {
        return op.isDone();
    }

    /**
     * True if {@link #synchronize()} would not wait. If the operation is not yet announced to the other ranks, it is
     * now.
     */
    public boolean poll() {
        if (!op.isDone()) {
            engine.hurry(op);
        }
        boolean done = op.isDone();
        if (done) {
            observe(false);
        }
        return done;
    }

    /**
     * Waits for the result, also while this thread is interrupted (see {@link HvdContext}).
     *
     * @return the output tensor; null if this rank gets none, for instance after a barrier
     * @throws io.hvd.error.RankMismatchException if the ranks asked for different things under this name
     * @throws io.hvd.error.ShutdownException if a rank has closed, failed or vanished
     */
    public Tensor synchronize() {
        Tensor tensor = outcome().tensor();
        if (unread != null && !expected) {
            expected = true;
            unread.expect(tensor, op.name());
        }
        return tensor;
    }

    /** Waits for the result of an alltoall. */
    public AlltoallResult received() {
        Outcome outcome = outcome();
        return new AlltoallResult(
                outcome.tensor(),
                outcome.received().stream().mapToInt(Math::toIntExact).toArray());
    }

    /** Waits for the result of a join, a rank, or of a new process set, its number. */
    int number() {
        return outcome().number();
    }

    /** Tells the engine that operations which the program submits from now on may need the result. */
    private void observe(boolean waits) {
        if (!observed) {
            observed = true;
            engine.observed(op, waits);
        }
    }

    private Outcome outcome() {
        observe(true);
        if (!op.isDone()) {
            engine.await(op);
        }
        try {
            return op.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof HvdException known) {
                throw known.seenHere();
            }
            throw e;
        }
    }

    /**
     * Runs an action when the result is there or the operation has failed.
     *
     * @param action what is run then; it must not wait, since it runs on hvd's thread, or on a thread that waits for a result
     */
    public void whenDone(Runnable action) {
        op.whenDone(() -> {
            observe(false);
            action.run();
        });
    }

    /** The name of the operation, and whether it is done. It waits for nothing. */
    @Override
    public String toString() {
        return "Handle(\"" + name() + "\", " + (isDone() ? "done" : "in progress") + ")";
    }
}
