package io.hvd.engine.submission;

import io.hvd.engine.message.Request;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * The operations that are under way, in the order of submission: from the time when they take their names until the
 * names may be submitted again. They are linked through their own fields, so that no object is made for it. The {@link
 * TensorQueue}'s lock guards the list.
 */
final class PendingList {
    /** The coordinator answers at the limit; so much later it is certain that it cannot. */
    private static final long OVERDUE_AFTER_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private PendingOp first;
    private PendingOp last;
    private int size;
    /** The operations that have a limit. */
    private final List<PendingOp> limited = new ArrayList<>();
    /** The number of operations that a thread of the program waits for. */
    private int awaited;

    /** Appends an operation that its slot already points to. */
    void append(PendingOp op) {
        op.previous = last;
        op.next = null;
        if (last == null) {
            first = op;
        } else {
            last.next = op;
        }
        last = op;
        size++;
        op.isAwaited = false;
        if (op.request() instanceof Request.Barrier barrier && barrier.hasLimit()) {
            long limit = TimeUnit.MILLISECONDS.toNanos(barrier.limitMillis());
            op.overdueNanos = System.nanoTime() + limit + OVERDUE_AFTER_NANOS;
            limited.add(op);
        }
    }

    /** Removes an operation; from here on its name may be submitted again. */
    void remove(PendingOp op) {
        if (op.previous == null) {
            first = op.next;
        } else {
            op.previous.next = op.next;
        }
        if (op.next == null) {
            last = op.previous;
        } else {
            op.next.previous = op.previous;
        }
        op.previous = null;
        op.next = null;
        op.slot().pending = null;
        size--;
        awaited -= op.isAwaited ? 1 : 0;
        op.isAwaited = false;
        if (op.request().hasLimit()) {
            limited.remove(op);
        }
    }

    void remove(List<PendingOp> ops) {
        for (int i = 0; i < ops.size(); i++) {
            remove(ops.get(i));
        }
    }

    /** Returns the operations that fulfil a condition, in the order of submission. */
    List<PendingOp> all(Predicate<PendingOp> which) {
        List<PendingOp> all = new ArrayList<>();
        for (PendingOp op = first; op != null; op = op.next) {
            if (which.test(op)) {
                all.add(op);
            }
        }
        return all;
    }

    /** A thread of the program waits for an operation. It does not count if it has a limit or has ended. */
    void await(PendingOp op) {
        if (op.slot().pending == op && !op.isAwaited && !op.request().hasLimit()) {
            op.isAwaited = true;
            awaited++;
        }
    }

    boolean isAwaited() {
        return awaited > 0;
    }

    boolean hasLimited() {
        return !limited.isEmpty();
    }

    boolean hasOnlyLimited() {
        return size == limited.size();
    }

    /**
     * Time in nanoseconds until the answer to an operation with a limit is overdue; {@link Long#MAX_VALUE} without one.
     */
    long nanosUntilOverdue() {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < limited.size(); i++) {
            least = Math.min(least, Math.max(0, limited.get(i).overdueNanos - System.nanoTime()));
        }
        return least;
    }
}
