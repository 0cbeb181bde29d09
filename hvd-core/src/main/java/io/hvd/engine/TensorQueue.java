package io.hvd.engine;

import io.hvd.error.DuplicateNameException;
import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * Operations between the user's threads and the communication thread: fresh ones that wait to be
 * announced, and announced ones that wait for a plan. Thread-safe.
 */
final class TensorQueue {
    /** The coordinator answers at the limit; this much later it is plain that it cannot. */
    private static final long OVERDUE_AFTER_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final long thresholdBytes;
    private final long lingerNanos;
    private final Map<PendingOp.Key, PendingOp> pending = new LinkedHashMap<>();
    /** When the answer to operations with a limit is overdue, in nanoseconds. */
    private final Map<PendingOp.Key, Long> overdue = new HashMap<>();
    /** Operations that a thread of the program waits for. */
    private final Set<PendingOp.Key> awaited = new HashSet<>();

    private List<PendingOp> fresh = new ArrayList<>();
    private long freshBytes;
    private long oldestNanos;
    private boolean urgent;
    /** Whether the communication thread has been woken for what is fresh. */
    private boolean called;
    /** How many fresh operations of the static plan are worth waking the communication thread for. */
    private int enough = Integer.MAX_VALUE;

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
     * @param planned true if a static plan waits for all of them, so that a part of them moves nothing
     * @return true if the communication thread must be woken
     */
    synchronized boolean submit(List<PendingOp> ops, boolean hurry, boolean planned) {
        if (closed != null) {
            throw closed.seenHere();
        }
        for (int i = 0; i < ops.size(); i++) {
            PendingOp op = ops.get(i);
            if (pending.putIfAbsent(op.key(), op) != null) {
                ops.subList(0, i).forEach(taken -> pending.remove(taken.key()));
                throw new DuplicateNameException(
                        "tensor \"" + op.name() + "\": " + op.request().kind()
                                + " was submitted while an operation of the same name is still in progress on this rank;"
                                + " wait for its handle first, or use another name");
            }
        }
        if (fresh.isEmpty()) {
            oldestNanos = System.nanoTime();
        }
        fresh.addAll(ops);
        for (PendingOp op : ops) {
            freshBytes += op.request().wireBytes();
            if (op.request().hasLimit()) {
                noteLimit(op);
            }
        }
        boolean nowUrgent = hurry || (!planned && freshBytes >= thresholdBytes);
        boolean wake = (nowUrgent && !urgent) || (!called && (!planned || fresh.size() >= enough));
        urgent |= nowUrgent;
        called |= wake;
        return wake;
    }

    private void noteLimit(PendingOp op) {
        long limit = TimeUnit.MILLISECONDS.toNanos(op.request().argument());
        overdue.put(op.key(), System.nanoTime() + limit + OVERDUE_AFTER_NANOS);
    }

    /** Whether an operation with a limit is pending. */
    synchronized boolean hasLimited() {
        return !overdue.isEmpty();
    }

    /** Whether nothing is pending but operations with a limit. */
    synchronized boolean hasOnlyLimited() {
        return pending.size() == overdue.size();
    }

    /** Time until an operation with a limit should long have been answered; {@link Long#MAX_VALUE} without one. */
    synchronized long nanosUntilOverdue() {
        long now = System.nanoTime();
        return overdue.values().stream()
                .mapToLong(end -> Math.max(0, end - now))
                .min()
                .orElse(Long.MAX_VALUE);
    }

    /** The communication thread goes to sleep without a static plan: whatever is submitted wakes it. */
    synchronized void restWithoutPlan() {
        enough = 0;
    }

    /**
     * The communication thread follows a static plan and goes to sleep.
     *
     * @param operations that the plan's next batch still lacks
     * @return false if so many are there already
     */
    synchronized boolean rest(int operations) {
        enough = operations;
        return fresh.size() < operations;
    }

    /** Somebody waits: what is fresh becomes due. Returns true if the communication thread must be woken. */
    synchronized boolean hurry() {
        boolean wake = !fresh.isEmpty() && !urgent;
        urgent |= wake;
        called |= wake;
        return wake;
    }

    /**
     * Somebody waits for one operation that a static plan may hold back.
     *
     * @return true if nobody has waited for any so far
     */
    synchronized boolean await(PendingOp.Key key) {
        PendingOp op = pending.get(key);
        return op != null && !op.request().hasLimit() && awaited.add(key) && awaited.size() == 1;
    }

    /** Whether somebody waits for such an operation; asked before {@link #drainFresh}, that brings all that he has submitted. */
    synchronized boolean isAwaited() {
        return !awaited.isEmpty();
    }

    /** Time until fresh operations are due: 0 when they are, {@link Long#MAX_VALUE} when there are none. */
    synchronized long nanosUntilDue() {
        if (fresh.isEmpty()) {
            return Long.MAX_VALUE;
        }
        return urgent ? 0 : Math.max(0, lingerNanos - (System.nanoTime() - oldestNanos));
    }

    /** Hands over what has not been announced yet. */
    synchronized List<PendingOp> drainFresh() {
        List<PendingOp> drained = fresh;
        fresh = new ArrayList<>();
        freshBytes = 0;
        urgent = false;
        called = false;
        enough = Integer.MAX_VALUE;
        return drained;
    }

    /** Hands over what has not been announced yet if all of it is of this kind; else nothing. */
    synchronized List<PendingOp> drainFreshIf(Predicate<PendingOp> kind) {
        for (PendingOp op : fresh) {
            if (!kind.test(op)) {
                return List.of();
            }
        }
        return fresh.isEmpty() ? List.of() : drainFresh();
    }

    /**
     * Hands over what is to be announced when a static plan ends, in the order of submission: everything
     * that is on its way but for what has been announced beside the plan.
     */
    synchronized List<PendingOp> drainAll() {
        List<PendingOp> unannounced = drainFresh();
        return pending.values().stream()
                .filter(op -> !op.request().hasLimit() || unannounced.contains(op))
                .toList();
    }

    /**
     * What a process set waits for when a static plan begins, in the order of submission: without what is
     * fresh still, and without what goes on beside the plan.
     */
    synchronized List<PendingOp> announced(int set) {
        return pending.values().stream()
                .filter(op -> op.set() == set && !op.request().hasLimit() && !fresh.contains(op))
                .toList();
    }

    /** Removes an operation; from here on its name may be submitted again. */
    PendingOp take(int set, String name) {
        return takeIfPending(set, name)
                .orElseThrow(() -> new IllegalStateException(
                        "a plan names tensor \"" + name + "\", which is not pending on this rank"));
    }

    /** Like {@link #take} for what this rank may not have submitted. */
    synchronized Optional<PendingOp> takeIfPending(int set, String name) {
        PendingOp.Key key = new PendingOp.Key(set, name);
        awaited.remove(key);
        overdue.remove(key);
        return Optional.ofNullable(pending.remove(key));
    }

    /** Operations that are pending. */
    synchronized List<PendingOp> all(int set, List<String> names) {
        List<PendingOp> found = new ArrayList<>(names.size());
        for (String name : names) {
            PendingOp op = pending.get(new PendingOp.Key(set, name));
            if (op == null) {
                throw new IllegalStateException(
                        "a plan names tensor \"" + name + "\", which is not pending on this rank");
            }
            found.add(op);
        }
        return found;
    }

    synchronized Optional<PendingOp> find(int set, String name) {
        return Optional.ofNullable(pending.get(new PendingOp.Key(set, name)));
    }

    /** Fails what a process set waits for. */
    void abandon(int set, HvdException cause) {
        List<PendingOp> left;
        synchronized (this) {
            left = pending.values().stream().filter(op -> op.set() == set).toList();
            left.forEach(op -> takeIfPending(set, op.name()));
            fresh.removeAll(left);
            if (fresh.isEmpty()) {
                drainFresh(); // whoever comes next wakes the communication thread again
            }
        }
        left.forEach(op -> op.fail(cause));
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
            awaited.clear();
            overdue.clear();
            fresh = new ArrayList<>();
        }
        left.forEach(op -> op.fail(cause));
    }
}
