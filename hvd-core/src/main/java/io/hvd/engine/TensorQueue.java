package io.hvd.engine;

import io.hvd.error.DuplicateNameException;
import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Operations between the user's threads and the communication thread: fresh ones that wait to be
 * announced, and announced ones that wait for a plan. Thread-safe.
 */
final class TensorQueue {
    private final long thresholdBytes;
    private final long lingerNanos;
    private final Map<String, PendingOp> pending = new LinkedHashMap<>();
    private List<PendingOp> fresh = new ArrayList<>();
    private long freshBytes;
    private long oldestNanos;
    private boolean urgent;
    private HvdException closed;

    /**
     * @param thresholdBytes as soon as this much is fresh, it is due
     * @param lingerNanos how long fresh operations that nobody waits for may gather company
     */
    TensorQueue(long thresholdBytes, long lingerNanos) {
        this.thresholdBytes = thresholdBytes;
        this.lingerNanos = lingerNanos;
    }

    /**
     * Takes operations in, all of them or, if one name is taken, none.
     *
     * @param hurry true when somebody waits for them already
     * @return true if the communication thread must be woken
     */
    synchronized boolean submit(List<PendingOp> ops, boolean hurry) {
        if (closed != null) {
            throw closed;
        }
        for (int i = 0; i < ops.size(); i++) {
            PendingOp op = ops.get(i);
            if (pending.putIfAbsent(op.name(), op) != null) {
                ops.subList(0, i).forEach(taken -> pending.remove(taken.name()));
                throw new DuplicateNameException(
                        "tensor \"" + op.name() + "\": " + op.request().kind()
                                + " was submitted while an operation of the same name is still in progress on this rank;"
                                + " wait for its handle first, or use another name");
            }
        }
        boolean first = fresh.isEmpty();
        if (first) {
            oldestNanos = System.nanoTime();
        }
        fresh.addAll(ops);
        ops.forEach(op -> freshBytes += op.request().wireBytes());
        boolean nowUrgent = hurry || freshBytes >= thresholdBytes;
        boolean wake = first || (nowUrgent && !urgent);
        urgent |= nowUrgent;
        return wake;
    }

    /** Somebody waits: what is fresh becomes due. Returns true if the communication thread must be woken. */
    synchronized boolean hurry() {
        boolean wake = !fresh.isEmpty() && !urgent;
        urgent |= wake;
        return wake;
    }

    /** Time until fresh operations are due: 0 when they are, {@link Long#MAX_VALUE} when there are none. */
    synchronized long nanosUntilDue() {
        if (fresh.isEmpty()) {
            return Long.MAX_VALUE;
        }
        return urgent ? 0 : Math.max(0, lingerNanos - (System.nanoTime() - oldestNanos));
    }

    /** Hands over what has not been announced yet. */
    synchronized List<Request> drainFresh() {
        List<Request> requests = fresh.stream().map(PendingOp::request).toList();
        fresh = new ArrayList<>();
        freshBytes = 0;
        urgent = false;
        return requests;
    }

    /** Removes an operation; from here on its name may be submitted again. */
    PendingOp take(String name) {
        return takeIfPending(name)
                .orElseThrow(() -> new IllegalStateException(
                        "a plan names tensor \"" + name + "\", which is not pending on this rank"));
    }

    /** Like {@link #take} for what this rank may not have submitted, when others wait for a closed rank. */
    synchronized Optional<PendingOp> takeIfPending(String name) {
        return Optional.ofNullable(pending.remove(name));
    }

    /** Fails everything that is pending and refuses whatever comes, with the same cause. */
    void close(HvdException cause) {
        List<PendingOp> left;
        synchronized (this) {
            if (closed != null) {
                return;
            }
            closed = cause;
            left = List.copyOf(pending.values());
            pending.clear();
            fresh = new ArrayList<>();
        }
        left.forEach(op -> op.fail(cause));
    }
}
