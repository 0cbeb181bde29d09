package io.hvd.host.memory;

import io.hvd.host.memory.Layout.Counter;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Threads of one JVM that wait for each other's counters asleep, where there are far more of them than cores: each is
 * woken once, by the rank that it waits for. To look again and again, as {@link Backoff} does, would take the cores from
 * those who work.
 *
 * <p>A thread puts itself on a list and looks once more before it sleeps; a rank publishes its counter before it looks at
 * the lists. So one of the two sees the other.
 */
public final class Sleepers {
    private static final int RANK_BITS = 20;
    private static final long MOST_RANKS = (1 << RANK_BITS) - 1;

    private final int ranks;
    /** A list for each rank, and behind them one for each counter, of those who wait for all ranks. */
    private final AtomicReferenceArray<Sleeper> lists;

    /**
     * For each counter and parity of the round the latest such round that somebody has looked at, and the ranks, from the
     * first on, that had reached it: each rank reads the counters that nobody has read before, instead of all.
     */
    private final AtomicLongArray known;

    private record Sleeper(Thread thread, Sleeper next) {}

    public Sleepers(int ranks) {
        this(ranks, new AtomicReferenceArray<>(ranks + Counter.values().length));
    }

    private Sleepers(int ranks, AtomicReferenceArray<Sleeper> lists) {
        this.ranks = ranks;
        this.lists = lists;
        this.known = new AtomicLongArray(2 * Counter.values().length);
    }

    /** Those of another memory of the same ranks, which are woken together with these. */
    public Sleepers ofAnotherMemory() {
        return new Sleepers(ranks, lists);
    }

    /** The number of ranks, from the first on, that are known to have reached a round. What they wrote before is visible. */
    int known(Counter counter, long round) {
        long latest = known.get(place(counter, round));
        return latest >> RANK_BITS == round ? (int) (latest & MOST_RANKS) : 0;
    }

    /** Tells all that so many ranks, from the first on, have reached a round. Somebody else may know more. */
    void know(Counter counter, long round, int come) {
        known.set(place(counter, round), round << RANK_BITS | come);
    }

    private static int place(Counter counter, long round) {
        return 2 * counter.ordinal() + Layout.parity(round);
    }

    /** Sleeps until the rank publishes a counter, at most so long; also returns for no reason. */
    void untilRank(int rank, BooleanSupplier enough, long nanos) {
        sleep(rank, enough, nanos);
    }

    /** Sleeps until the last of all ranks publishes a counter, at most so long; also returns for no reason. */
    void untilAll(Counter counter, BooleanSupplier enough, long nanos) {
        sleep(ranks + counter.ordinal(), enough, nanos);
    }

    private void sleep(int list, BooleanSupplier enough, long nanos) {
        Thread self = Thread.currentThread();
        if (self.isInterrupted()) { // it cannot sleep, and each look would put it on the list once more
            Thread.yield();
            return;
        }
        Sleeper first = lists.get(list);
        while (!lists.weakCompareAndSetVolatile(list, first, new Sleeper(self, first))) {
            first = lists.get(list);
        }
        if (!enough.getAsBoolean()) {
            LockSupport.parkNanos(nanos);
        }
    }

    /**
     * Wakes those who wait for what a rank has just published.
     *
     * @param haveAllCome whether all ranks have published it
     */
    void published(int rank, Counter counter, BooleanSupplier haveAllCome) {
        wake(rank);
        int all = ranks + counter.ordinal();
        if (lists.get(all) != null && haveAllCome.getAsBoolean()) {
            wake(all);
        }
    }

    /** Wakes all, who then ask whether the one that they wait for has ended. */
    public void wakeAll() {
        for (int list = 0; list < lists.length(); list++) {
            wake(list);
        }
    }

    private void wake(int list) {
        if (lists.get(list) != null) {
            for (Sleeper each = lists.getAndSet(list, null); each != null; each = each.next) {
                LockSupport.unpark(each.thread);
            }
        }
    }
}
