package io.hvd.backend.shm;

import java.util.concurrent.locks.LockSupport;

/**
 * How a thread waits for another process: it spins for a moment where every rank of the host has a core, then gives
 * way to whoever wants the core, and after a while sleeps, longer and longer. One per thread.
 */
final class Patience {
    /** About as long as a hand-over takes between two cores. */
    private static final int SPINS = 2_000;

    private static final long YIELD_NANOS = 1_000_000;
    private static final long SHORTEST_SLEEP_NANOS = 20_000;
    private static final long LONGEST_SLEEP_NANOS = 1_000_000;

    private final int spins;
    private int spun;
    private long yieldUntil;
    private long sleep;

    /** @param ranks of this host */
    Patience(int ranks) {
        this(ranks, Runtime.getRuntime().availableProcessors());
    }

    Patience(int ranks, int cores) {
        this.spins = ranks <= cores ? SPINS : 0;
    }

    /** A new wait. */
    void begin() {
        spun = 0;
        yieldUntil = 0;
        sleep = SHORTEST_SLEEP_NANOS;
    }

    void pause() {
        if (spun < spins) {
            spun++;
            Thread.onSpinWait();
            return;
        }
        long now = System.nanoTime();
        if (yieldUntil == 0) {
            yieldUntil = now + YIELD_NANOS;
        }
        if (now < yieldUntil) {
            Thread.yield();
        } else {
            LockSupport.parkNanos(sleep);
            sleep = Math.min(LONGEST_SLEEP_NANOS, sleep * 2);
        }
    }
}
