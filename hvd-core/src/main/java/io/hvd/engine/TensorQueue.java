package io.hvd.engine;

import io.hvd.error.DuplicateNameException;
import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Operations between the user's threads and the communication thread: fresh ones that wait to be
 * announced, and announced ones that wait for a plan; and the {@link Slot} of every name in use. Thread-safe.
 */
final class TensorQueue {
    /** More than a model has tensors. Operations without a name have a new one each time, and are not to fill the memory. */
    static final int MOST_IDLE_NAMES = 4096;
    /** The coordinator answers at the limit; this much later it is plain that it cannot. */
    private static final long OVERDUE_AFTER_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final long thresholdBytes;
    private final long lingerNanos;
    /** By process set and name. */
    private final Map<Integer, Map<String, Slot>> slots = new ConcurrentHashMap<>();

    private int names;
    /** When so many names are known, those that nobody needs are forgotten. */
    private int mostNames = MOST_IDLE_NAMES;

    /** The first and the last operation that is pending, in the order of submission. */
    private PendingOp first;

    private PendingOp last;
    private int pending;
    /** Those of them that have a limit. */
    private final List<PendingOp> limited = new ArrayList<>();
    /** Those of them that a thread of the program waits for. */
    private int awaited;

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
        Map<String, Slot> ofSet = slots.get(set);
        Slot slot = ofSet == null ? null : ofSet.get(name);
        return slot != null ? slot : slotMade(set, name);
    }

    private synchronized Slot slotMade(int set, String name) {
        if (names >= mostNames) {
            forgetIdleNames();
            mostNames = Math.max(MOST_IDLE_NAMES, 2 * names);
        }
        return slots.computeIfAbsent(set, number -> new ConcurrentHashMap<>()).computeIfAbsent(name, missing -> {
            names++;
            return new Slot(set, missing);
        });
    }

    private void forgetIdleNames() {
        slots.values()
                .forEach(ofSet -> ofSet.values().removeIf(slot -> {
                    boolean idle = slot.pending == null && slot.keepers == 0 && !slot.isRemembered();
                    if (idle) {
                        slot.retired = true;
                        names--;
                    }
                    return idle;
                }));
    }

    /** The slot of a name, for an operation that is prepared: it stays until it is {@link #release released}. */
    synchronized Slot keep(int set, String name) {
        Slot slot = slotMade(set, name);
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
        op.previous = last;
        op.next = null;
        if (last == null) {
            first = op;
        } else {
            last.next = op;
        }
        last = op;
        pending++;
        op.fresh = true;
        op.isAwaited = false;
        fresh.add(op);
        freshBytes += op.request().wireBytes();
        if (op.request() instanceof Request.Barrier barrier && barrier.hasLimit()) {
            long limit = TimeUnit.MILLISECONDS.toNanos(barrier.limitMillis());
            op.overdueNanos = System.nanoTime() + limit + OVERDUE_AFTER_NANOS;
            limited.add(op);
        }
    }

    /** From here on its name may be submitted again. */
    private void unlink(PendingOp op) {
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
        pending--;
        awaited -= op.isAwaited ? 1 : 0;
        op.isAwaited = false;
        if (op.request().hasLimit()) {
            limited.remove(op);
        }
    }

    /** Whether an operation with a limit is pending. */
    synchronized boolean hasLimited() {
        return !limited.isEmpty();
    }

    /** Whether nothing is pending but operations with a limit. */
    synchronized boolean hasOnlyLimited() {
        return pending == limited.size();
    }

    /** Time until an operation with a limit should long have been answered; {@link Long#MAX_VALUE} without one. */
    synchronized long nanosUntilOverdue() {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < limited.size(); i++) {
            least = Math.min(least, Math.max(0, limited.get(i).overdueNanos - System.nanoTime()));
        }
        return least;
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
        int before = awaited;
        for (int i = 0; i < ops.size(); i++) {
            PendingOp op = ops.get(i);
            if (op.slot().pending == op && !op.isAwaited && !op.request().hasLimit()) {
                op.isAwaited = true;
                awaited++;
            }
        }
        return before == 0 && awaited > 0;
    }

    /**
     * Whether somebody waits for such an operation. Ask this before {@link #drainFresh}: whoever waits has submitted before,
     * so that what is drained then includes his operations.
     */
    synchronized boolean isAwaited() {
        return awaited > 0;
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
        List<PendingOp> all = new ArrayList<>();
        for (PendingOp op = first; op != null; op = op.next) {
            if (!op.request().hasLimit() || op.fresh) {
                all.add(op);
            }
        }
        drainFresh();
        return all;
    }

    /**
     * What a process set waits for when a static plan begins, in the order of submission: without what is
     * fresh still, and without what goes on beside the plan.
     */
    synchronized List<PendingOp> announced(int set) {
        List<PendingOp> all = new ArrayList<>();
        for (PendingOp op = first; op != null; op = op.next) {
            if (op.set() == set && !op.request().hasLimit() && !op.fresh) {
                all.add(op);
            }
        }
        return all;
    }

    /** Removes operations; from here on their names may be submitted again. */
    synchronized void take(List<PendingOp> ops) {
        for (int i = 0; i < ops.size(); i++) {
            unlink(ops.get(i));
        }
    }

    /** Removes the operation of that name, if this rank has submitted one. */
    synchronized Optional<PendingOp> takeIfPending(int set, String name) {
        Optional<PendingOp> found = find(set, name);
        found.ifPresent(this::unlink);
        return found;
    }

    synchronized Optional<PendingOp> find(int set, String name) {
        Map<String, Slot> ofSet = slots.get(set);
        Slot slot = ofSet == null ? null : ofSet.get(name);
        return slot == null ? Optional.empty() : Optional.ofNullable(slot.pending);
    }

    /** Fails what a process set waits for, which is gone. */
    void abandon(int set, HvdException cause) {
        List<PendingOp> left = new ArrayList<>();
        synchronized (this) {
            for (PendingOp op = first; op != null; op = op.next) {
                if (op.set() == set) {
                    left.add(op);
                }
            }
            take(left);
            fresh.removeAll(left);
            if (fresh.isEmpty()) {
                drainFresh(); // whoever comes next wakes the communication thread again
            }
            Map<String, Slot> gone = slots.remove(set);
            if (gone != null) {
                gone.values().forEach(slot -> slot.retired = true);
                names -= gone.size();
            }
        }
        left.forEach(op -> op.fail(cause));
    }

    /** Fails everything that is pending and refuses whatever comes, with the same cause. */
    void close(HvdException cause) {
        List<PendingOp> left = new ArrayList<>();
        synchronized (this) {
            if (closed != null) {
                return;
            }
            closed = cause;
            for (PendingOp op = first; op != null; op = op.next) {
                left.add(op);
            }
            take(left);
            fresh = new ArrayList<>();
        }
        left.forEach(op -> op.fail(cause));
    }
}
