package io.hvd.engine.submission;

import io.hvd.error.DuplicateNameException;
import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Operations on their way from the program's threads to the communication thread: fresh ones have not been announced
 * yet, announced ones wait for a plan. Thread-safe.
 */
public final class TensorQueue {
    private long thresholdBytes;
    private long lingerNanos;
    private final SlotTable slots = new SlotTable();
    private final PendingList pending = new PendingList();

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
     * @param thresholdBytes fresh operations are due as soon as they have this many bytes
     * @param lingerNanos how long fresh operations that no thread waits for may gather company
     */
    public TensorQueue(long thresholdBytes, long lingerNanos) {
        this.thresholdBytes = thresholdBytes;
        this.lingerNanos = lingerNanos;
    }

    /** Other values of the constructor's parameters hold from now on. */
    public synchronized void tune(long threshold, long linger) {
        thresholdBytes = threshold;
        lingerNanos = linger;
    }

    /** The slot of a name; any thread. */
    public Slot slot(int set, String name) {
        Slot slot = slots.find(set, name);
        return slot != null ? slot : slotMade(set, name);
    }

    private synchronized Slot slotMade(int set, String name) {
        return slots.get(set, name);
    }

    /** The slot of a name, for an operation that is prepared: it stays until it is {@link #release released}. */
    public synchronized Slot keep(int set, String name) {
        Slot slot = slots.get(set, name);
        slot.keepers++;
        return slot;
    }

    public synchronized void release(Slot slot) {
        slot.keepers--;
    }

    /**
     * Adds operations: all of them or, if one of the names is in use, none.
     *
     * @param hurry true if a thread already waits for them
     * @param planned true if a static plan waits for all of them, so that a part of them moves nothing
     * @return true if the caller must wake the communication thread
     * @throws DuplicateNameException if an operation of the same name is still in progress on this rank
     */
    public synchronized boolean submit(List<PendingOp> ops, boolean hurry, boolean planned) {
        if (closed != null) {
            throw closed.seenHere();
        }
        for (int i = 0; i < ops.size(); i++) {
            PendingOp op = ops.get(i);
            if (!claimsName(op)) {
                for (int taken = 0; taken < i; taken++) {
                    ops.get(taken).slot().pending = null;
                }
                throw new DuplicateNameException(
                        "tensor \"" + op.name() + "\": " + op.request().kind()
                                + " was submitted while an operation of the same name is still in progress on this rank;"
                                + " wait for its handle first, or use another name");
            }
        }
        if (fresh.isEmpty()) {
            oldestNanos = System.nanoTime();
        }
        for (int i = 0; i < ops.size(); i++) {
            append(ops.get(i));
        }
        boolean nowUrgent = hurry || (!planned && freshBytes >= thresholdBytes);
        boolean wake = (nowUrgent && !urgent) || (!called && (!planned || fresh.size() >= enough));
        urgent |= nowUrgent;
        called |= wake;
        return wake;
    }

    private boolean claimsName(PendingOp op) {
        if (op.slot().retired) {
            op.move(op.isPrepared() ? keep(op.set(), op.name()) : slot(op.set(), op.name()));
        }
        Slot slot = op.slot();
        if (slot.pending != null) {
            return false;
        }
        slot.pending = op;
        return true;
    }

    private void append(PendingOp op) {
        pending.append(op);
        op.fresh = true;
        fresh.add(op);
        freshBytes += op.request().wireBytes();
    }

    /** Whether an operation with a limit is pending. */
    public synchronized boolean hasLimited() {
        return pending.hasLimited();
    }

    /** Whether nothing is pending but operations with a limit. */
    public synchronized boolean hasOnlyLimited() {
        return pending.hasOnlyLimited();
    }

    /** Time until an operation with a limit should long have been answered; {@link Long#MAX_VALUE} without one. */
    public synchronized long nanosUntilOverdue() {
        return pending.nanosUntilOverdue();
    }

    /** The communication thread goes to sleep while no static plan holds: any submission wakes it. */
    public synchronized void restWithoutPlan() {
        enough = 0;
    }

    /**
     * The communication thread goes to sleep while it follows a static plan.
     *
     * @param operations how many operations the plan's next batch still lacks
     * @return false if that many are there already
     */
    public synchronized boolean rest(int operations) {
        enough = operations;
        return fresh.size() < operations;
    }

    /** A thread waits: fresh operations become due. Returns true if the caller must wake the communication thread. */
    public synchronized boolean hurry() {
        boolean wake = !fresh.isEmpty() && !urgent;
        urgent |= wake;
        called |= wake;
        return wake;
    }

    /**
     * A thread waits for operations that a static plan may hold back.
     *
     * @return true if no thread has waited for such an operation so far
     */
    public synchronized boolean await(List<PendingOp> ops) {
        boolean before = pending.isAwaited();
        for (int i = 0; i < ops.size(); i++) {
            pending.await(ops.get(i));
        }
        return !before && pending.isAwaited();
    }

    /**
     * Whether a thread waits for such an operation. Ask this before {@link #drainFresh}: a thread that waits has
     * submitted its operations before, so the drain includes them.
     */
    public synchronized boolean isAwaited() {
        return pending.isAwaited();
    }

    /** Time until fresh operations are due: 0 when they are, {@link Long#MAX_VALUE} when there are none. */
    public synchronized long nanosUntilDue() {
        if (fresh.isEmpty()) {
            return Long.MAX_VALUE;
        }
        return urgent ? 0 : Math.max(0, lingerNanos - (System.nanoTime() - oldestNanos));
    }

    /** Removes and returns the operations that have not been announced yet. */
    public List<PendingOp> drainFresh() {
        return drainFresh(new ArrayList<>());
    }

    /**
     * Removes and returns the operations that have not been announced yet.
     *
     * @param empty takes the place of the returned list, which belongs to the caller from here on
     */
    public synchronized List<PendingOp> drainFresh(List<PendingOp> empty) {
        List<PendingOp> drained = fresh;
        for (int i = 0; i < drained.size(); i++) {
            drained.get(i).fresh = false;
        }
        fresh = empty;
        freshBytes = 0;
        urgent = false;
        called = false;
        enough = Integer.MAX_VALUE;
        return drained;
    }

    /**
     * As {@link #drainFresh(List)}, but only if all fresh operations are of this set and have no limit.
     *
     * @param empty an empty list, as for {@link #drainFresh(List)}
     * @return {@code empty} if there are other operations, or none
     */
    public synchronized List<PendingOp> drainFreshOf(int set, List<PendingOp> empty) {
        for (int i = 0; i < fresh.size(); i++) {
            PendingOp op = fresh.get(i);
            if (op.set() != set || op.request().hasLimit()) {
                return empty;
            }
        }
        return fresh.isEmpty() ? empty : drainFresh(empty);
    }

    /**
     * Returns the operations to announce when a static plan ends, in the order of submission: all that are pending,
     * except those that have been announced beside the plan.
     */
    public synchronized List<PendingOp> drainAll() {
        List<PendingOp> all = pending.all(op -> !op.request().hasLimit() || op.fresh);
        drainFresh();
        return all;
    }

    /**
     * The announced operations of a process set when a static plan begins, in the order of submission. Fresh operations
     * are left out, and so are those with a limit, which go on beside the plan.
     */
    public synchronized List<PendingOp> announced(int set) {
        return pending.all(op -> op.set() == set && !op.request().hasLimit() && !op.fresh);
    }

    /** Removes operations; from here on their names may be submitted again. */
    public synchronized void take(List<PendingOp> ops) {
        pending.remove(ops);
    }

    /** Removes the operation of that name, if this rank has submitted one. */
    public synchronized Optional<PendingOp> takeIfPending(int set, String name) {
        Optional<PendingOp> found = find(set, name);
        found.ifPresent(pending::remove);
        return found;
    }

    public synchronized Optional<PendingOp> find(int set, String name) {
        Slot slot = slots.find(set, name);
        return slot == null ? Optional.empty() : Optional.ofNullable(slot.pending);
    }

    /** Fails the pending operations of a process set that has been removed. */
    public void abandon(int set, HvdException cause) {
        removed(set).forEach(op -> op.fail(cause));
    }

    private synchronized List<PendingOp> removed(int set) {
        List<PendingOp> left = pending.all(op -> op.set() == set);
        pending.remove(left);
        fresh.removeAll(left);
        if (fresh.isEmpty()) {
            drainFresh(); // the next submission wakes the communication thread again
        }
        slots.remove(set);
        return left;
    }

    /** Fails all pending operations and refuses all later ones, with the same cause. */
    public void close(HvdException cause) {
        closed(cause).forEach(op -> op.fail(cause));
    }

    private synchronized List<PendingOp> closed(HvdException cause) {
        if (closed != null) {
            return List.of();
        }
        closed = cause;
        List<PendingOp> left = pending.all(op -> true);
        pending.remove(left);
        fresh = new ArrayList<>();
        return left;
    }
}
