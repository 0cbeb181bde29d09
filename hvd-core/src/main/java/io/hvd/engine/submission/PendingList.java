package io.hvd.engine.submission;

import io.hvd.engine.message.Request;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * The operations that are under way, in the order of submission: from the time when they take their names until the
 * names may be submitted again. Each has its {@link Entry} from the beginning, so that no object is made for the list.
 * The {@link TensorQueue}'s lock guards the list and the entries.
 */
final class PendingList {
    /** The coordinator answers at the limit; so much later it is certain that it cannot. */
    private static final long OVERDUE_AFTER_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private Entry first;
    private Entry last;
    private int size;
    /** The operations that have a limit. */
    private final List<Entry> limited = new ArrayList<>();
    /** The number of operations that a thread of the program waits for. */
    private int awaited;

    /** An operation's place in the list. */
    static final class Entry {
        private final PendingOp op;
        private Entry previous;
        private Entry next;
        /** Whether it has not been announced yet. */
        private boolean fresh;
        /** Whether a thread of the program waits for it. */
        private boolean awaited;
        /** The time at which the answer to an operation with a limit is overdue. */
        private long overdueNanos;

        Entry(PendingOp op) {
            this.op = op;
        }
    }

    /** Appends a fresh operation that its slot already points to. */
    void append(PendingOp op) {
        Entry entry = op.entry();
        entry.previous = last;
        entry.next = null;
        if (last == null) {
            first = entry;
        } else {
            last.next = entry;
        }
        last = entry;
        size++;
        entry.fresh = true;
        entry.awaited = false;
        if (op.request() instanceof Request.Barrier barrier && barrier.hasLimit()) {
            long limit = TimeUnit.MILLISECONDS.toNanos(barrier.limitMillis());
            entry.overdueNanos = System.nanoTime() + limit + OVERDUE_AFTER_NANOS;
            limited.add(entry);
        }
    }

    /** The communication thread has taken these: they are not fresh any more. */
    void taken(List<PendingOp> ops) {
        for (int i = 0; i < ops.size(); i++) {
            ops.get(i).entry().fresh = false;
        }
    }

    boolean isFresh(PendingOp op) {
        return op.entry().fresh;
    }

    /** Removes an operation; from here on its name may be submitted again. */
    void remove(PendingOp op) {
        Entry entry = op.entry();
        if (entry.previous == null) {
            first = entry.next;
        } else {
            entry.previous.next = entry.next;
        }
        if (entry.next == null) {
            last = entry.previous;
        } else {
            entry.next.previous = entry.previous;
        }
        entry.previous = null;
        entry.next = null;
        op.slot().use().free();
        size--;
        awaited -= entry.awaited ? 1 : 0;
        entry.awaited = false;
        if (op.request().hasLimit()) {
            limited.remove(entry);
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
        for (Entry entry = first; entry != null; entry = entry.next) {
            if (which.test(entry.op)) {
                all.add(entry.op);
            }
        }
        return all;
    }

    /** A thread of the program waits for an operation. It does not count if it has a limit or has ended. */
    void await(PendingOp op) {
        Entry entry = op.entry();
        if (op.slot().use().pending() == op && !entry.awaited && !op.request().hasLimit()) {
            entry.awaited = true;
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
