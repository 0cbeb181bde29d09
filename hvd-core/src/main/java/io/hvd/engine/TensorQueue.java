package io.hvd.engine;

import io.hvd.error.DuplicateNameException;
import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Operations between the user's threads and the communication thread: fresh ones that wait to be
 * announced, and announced ones that wait for a plan. Thread-safe.
 */
final class TensorQueue {
    private final long thresholdBytes;
    private final long lingerNanos;
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
     * @param thresholdBytes as soon as this much is fresh, it is due
     * @param lingerNanos how long fresh operations that nobody waits for may gather company
     */
    TensorQueue(long thresholdBytes, long lingerNanos) {
        this.thresholdBytes = thresholdBytes;
        this.lingerNanos = lingerNanos;
    }

    /** The slot of a name; any thread. */
    Slot slot(int set, String name) {
        Slot slot = slots.find(set, name);
        return slot != null ? slot : slotMade(set, name);
    }

    private synchronized Slot slotMade(int set, String name) {
        return slots.get(set, name);
    }

    /** The slot of a name, for an operation that is prepared: it stays until it is {@link #release released}. */
    synchronized Slot keep(int set, String name) {
        Slot slot = slots.get(set, name);
        slot.keepers++;
        return slot;
    }

    synchronized void release(Slot slot) {
        slot.keepers--;
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
    synchronized boolean hasLimited() {
        return pending.hasLimited();
    }

    /** Whether nothing is pending but operations with a limit. */
    synchronized boolean hasOnlyLimited() {
        return pending.hasOnlyLimited();
    }

    /** Time until an operation with a limit should long have been answered; {@link Long#MAX_VALUE} without one. */
    synchronized long nanosUntilOverdue() {
        return pending.nanosUntilOverdue();
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
     * Somebody waits for operations that a static plan may hold back.
     *
     * @return true if nobody has waited for any so far
     */
    synchronized boolean await(List<PendingOp> ops) {
        boolean before = pending.isAwaited();
        for (int i = 0; i < ops.size(); i++) {
            pending.await(ops.get(i));
        }
        return !before && pending.isAwaited();
    }

    /**
     * Whether somebody waits for such an operation. Ask this before {@link #drainFresh}: whoever waits has submitted before,
     * so that what is drained then includes his operations.
     */
    synchronized boolean isAwaited() {
        return pending.isAwaited();
    }

    /** Time until fresh operations are due: 0 when they are, {@link Long#MAX_VALUE} when there are none. */
    synchronized long nanosUntilDue() {
        if (fresh.isEmpty()) {
            return Long.MAX_VALUE;
        }
        return urgent ? 0 : Math.max(0, lingerNanos - (System.nanoTime() - oldestNanos));
    }

    /** Hands over what has not been announced yet. */
    List<PendingOp> drainFresh() {
        return drainFresh(new ArrayList<>());
    }

    /**
     * Hands over what has not been announced yet.
     *
     * @param empty takes the place of the list that is handed over, which belongs to the caller from here on
     */
    synchronized List<PendingOp> drainFresh(List<PendingOp> empty) {
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
     * Hands over what has not been announced yet if all of it is of one set and has no limit.
     *
     * @param empty as in {@link #drainFresh(List)}
     * @return {@code empty} if there is anything else, or nothing
     */
    synchronized List<PendingOp> drainFreshOf(int set, List<PendingOp> empty) {
        for (int i = 0; i < fresh.size(); i++) {
            PendingOp op = fresh.get(i);
            if (op.set() != set || op.request().hasLimit()) {
                return empty;
            }
        }
        return fresh.isEmpty() ? empty : drainFresh(empty);
    }

    /**
     * Hands over what is to be announced when a static plan ends, in the order of submission: everything
     * that is on its way but for what has been announced beside the plan.
     */
    synchronized List<PendingOp> drainAll() {
        List<PendingOp> all = pending.all(op -> !op.request().hasLimit() || op.fresh);
        drainFresh();
        return all;
    }

    /**
     * What a process set waits for when a static plan begins, in the order of submission: without what is
     * fresh still, and without what goes on beside the plan.
     */
    synchronized List<PendingOp> announced(int set) {
        return pending.all(op -> op.set() == set && !op.request().hasLimit() && !op.fresh);
    }

    /** Removes operations; from here on their names may be submitted again. */
    synchronized void take(List<PendingOp> ops) {
        pending.remove(ops);
    }

    /** Removes the operation of that name, if this rank has submitted one. */
    synchronized Optional<PendingOp> takeIfPending(int set, String name) {
        Optional<PendingOp> found = find(set, name);
        found.ifPresent(pending::remove);
        return found;
    }

    synchronized Optional<PendingOp> find(int set, String name) {
        Slot slot = slots.find(set, name);
        return slot == null ? Optional.empty() : Optional.ofNullable(slot.pending);
    }

    /** Fails what a process set waits for, which is gone. */
    void abandon(int set, HvdException cause) {
        removed(set).forEach(op -> op.fail(cause));
    }

    private synchronized List<PendingOp> removed(int set) {
        List<PendingOp> left = pending.all(op -> op.set() == set);
        pending.remove(left);
        fresh.removeAll(left);
        if (fresh.isEmpty()) {
            drainFresh(); // whoever comes next wakes the communication thread again
        }
        slots.remove(set);
        return left;
    }

    /** Fails everything that is pending and refuses whatever comes, with the same cause. */
    void close(HvdException cause) {
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
