package io.hvd;

import io.hvd.engine.Engine;
import io.hvd.engine.Outcome;
import io.hvd.engine.PendingOp;
import io.hvd.error.HvdException;
import io.hvd.job.UnreadResults;
import io.hvd.tensor.Tensor;
import java.util.concurrent.CompletionException;

/** A collective on its way. Its tensors belong to hvd until {@link #synchronize()} returns. */
public final class Handle {
    private final PendingOp op;
    private final Engine engine;
    /** Null where the result need not be read: it is a tensor of the caller's. */
    private final UnreadResults unread;

    private volatile boolean expected;
    private volatile boolean observed;

    Handle(PendingOp op, Engine engine, UnreadResults unread) {
        this.op = op;
        this.engine = engine;
        this.unread = unread;
    }

    public String name() {
        return op.name();
    }

    /** True when {@link #synchronize()} would not wait; in contrast to {@link #poll()} it hurries nothing on, for statistics. */
    public boolean isDone() {
        return op.isDone();
    }

    /** True when {@link #synchronize()} would not wait. Whoever polls is taken to wait: what is not announced yet is announced. */
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
     * Waits for the result.
     *
     * @return the output tensor; null where this rank gets none, as after a barrier
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

    /** Waits for the number that a join or a new process set brings. */
    int number() {
        return outcome().number();
    }

    /** What the program submits from here on may need the result. */
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

    /** Calls back on hvd's thread, or on one that waits for a result, when the result is there or the operation has failed; must not wait. */
    public void whenDone(Runnable action) {
        op.whenDone(() -> {
            observe(false);
            action.run();
        });
    }
}
