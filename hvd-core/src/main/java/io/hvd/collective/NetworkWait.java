package io.hvd.collective;

import io.hvd.config.Processors;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;

/**
 * How a thread waits for data from the network. For a moment it looks again and again: without a pause where no other
 * thread of this host wants its core, else after it has yielded. Then it sleeps between two looks, because sockets work
 * on for longer than that. The system takes a thread that is always ready to run off a core that others want, but gives
 * the core to a thread that wakes up. One thread at a time uses this class.
 */
public final class NetworkWait {
    /**
     * The time before the first sleep: on a fast network the data has come by then, and by the system's timer a sleep
     * takes longer than asked.
     */
    private static final long LOOK_NANOS = 50_000;

    private static final long REST_NANOS = 20_000;

    private final boolean spins;
    private final Core core;
    private long begun;

    /** The core that a thread runs on. */
    interface Core {
        default long nanoTime() {
            return System.nanoTime();
        }

        /** Yields the core to any thread that wants it. */
        default void giveWay() {
            Thread.yield();
        }

        void rest(long nanos);
    }

    /** @param spins whether no other thread wants the core */
    NetworkWait(boolean spins, Core core) {
        this.spins = spins;
        this.core = core;
    }

    /** @param localSize number of ranks of this host, each with a thread that communicates and one that computes */
    public static NetworkWait of(int localSize) {
        return of(localSize, LockSupport::parkNanos);
    }

    /** @param rest waits for about so many nanoseconds, or until something has come */
    static NetworkWait of(int localSize, LongConsumer rest) {
        boolean spins = 2 * localSize <= Processors.ofThisProcess(localSize).ofAll(localSize);
        return new NetworkWait(spins, rest::accept);
    }

    /** Begins a new wait. */
    void begin() {
        begun = core.nanoTime();
    }

    /** Waits a little, because nothing has come yet. */
    void pause() {
        if (core.nanoTime() - begun > LOOK_NANOS) {
            core.rest(REST_NANOS);
        } else if (!spins) {
            core.giveWay();
        }
    }
}
