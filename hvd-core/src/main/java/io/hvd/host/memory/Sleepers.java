package io.hvd.host.memory;

import io.hvd.host.memory.Layout.Counter;
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
    private final int ranks;
    /** A list for each rank, and behind them one for each counter, of those who wait for all ranks. */
    private final AtomicReferenceArray<Sleeper> lists;

    private record Sleeper(Thread thread, Sleeper next) {}

    public Sleepers(int ranks) {
        this.ranks = ranks;
        this.lists = new AtomicReferenceArray<>(ranks + Counter.values().length);
    }

    /** Sleeps until the rank publishes a counter, at most so long; also returns for no reason. */
    void untilRank(int rank, BooleanSupplier hasCome, long nanos) {
        sleep(rank, hasCome, nanos);
    }

    /** Sleeps until the counter of the last rank has come, at most so long; also returns for no reason. */
    void untilAll(Counter counter, BooleanSupplier haveCome, long nanos) {
        sleep(ranks + counter.ordinal(), haveCome, nanos);
    }

    private void sleep(int list, BooleanSupplier come, long nanos) {
        Thread self = Thread.currentThread();
        Sleeper first = lists.get(list);
        while (!lists.weakCompareAndSetVolatile(list, first, new Sleeper(self, first))) {
            first = lists.get(list);
        }
        if (!come.getAsBoolean()) {
            Backoff.park(nanos);
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

    private void wake(int list) {
        if (lists.get(list) != null) {
            for (Sleeper each = lists.getAndSet(list, null); each != null; each = each.next) {
                LockSupport.unpark(each.thread);
            }
        }
    }
}
