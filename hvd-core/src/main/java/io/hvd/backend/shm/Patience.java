package io.hvd.backend.shm;

import java.util.concurrent.locks.LockSupport;

/**
 * How a thread waits for another process: it spins for a moment where that takes no core from anybody, then gives way to
 * whoever wants the core, and after a while sleeps, longer and longer. By one thread at a time.
 */
final class Patience {
    /** Longer than a hand-over between two cores takes. */
    private static final long SPIN_NANOS = 50_000;
    /** A look at the clock costs as much as some looks at the memory. */
    private static final int LOOKS_PER_CLOCK = 32;

    private static final long YIELD_NANOS = 1_000_000;
    private static final long SHORTEST_SLEEP_NANOS = 20_000;
    private static final long LONGEST_SLEEP_NANOS = 1_000_000;

    /** The program's own threads compute while it waits; they do not while one of them does. */
    private final Thread communication = Thread.currentThread();

    private final int ranks;
    private final int cores;
    private int looks;
    private long begun;
    private boolean spins;
    private long sleep;

    /**
     * Made on the communication thread.
     *
     * @param ranks of this host
     */
    Patience(int ranks) {
        this(ranks, Runtime.getRuntime().availableProcessors());
    }

    Patience(int ranks, int cores) {
        this.ranks = ranks;
        this.cores = cores;
    }

    /** A new wait. */
    void begin() {
        looks = 0;
        begun = 0;
        int threads = Thread.currentThread() == communication ? 2 : 1;
        spins = ranks * threads <= cores;
        sleep = SHORTEST_SLEEP_NANOS;
    }

    void pause() {
        if (spins && ++looks % LOOKS_PER_CLOCK != 0) {
            Thread.onSpinWait();
            return;
        }
        long now = System.nanoTime();
        if (begun == 0) {
            begun = now;
        }
        long waited = now - begun;
        if (spins && waited < SPIN_NANOS) {
            Thread.onSpinWait();
        } else if (waited < YIELD_NANOS) {
            spins = false;
            Thread.yield();
        } else {
            LockSupport.parkNanos(sleep);
            sleep = Math.min(LONGEST_SLEEP_NANOS, sleep * 2);
        }
    }
}
