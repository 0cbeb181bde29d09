package io.hvd.backend.mpi.bindings;

import io.hvd.config.Processors;
import java.util.concurrent.locks.LockSupport;

/**
 * How a thread waits for what comes over the network. For a moment it looks again and again: at once where no other thread
 * of this host wants its core, else after whoever does. Then it rests between two looks: the sockets go on for longer than
 * that, and whoever is always ready to run is taken off a core that others want, while whoever wakes up gets it. By one
 * thread at a time.
 */
final class NetworkWait {
    /** On a fast network what is awaited is there by then; to rest takes longer than it says, by the system's timer. */
    private static final long LOOK_NANOS = 50_000;

    private static final long REST_NANOS = 20_000;

    private final boolean spins;
    private final Core core;
    private long begun;

    /** What a thread can do with the core that it runs on. */
    interface Core {
        Core REAL = new Core() {
            @Override
            public long nanoTime() {
                return System.nanoTime();
            }

            @Override
            public void giveWay() {
                Thread.yield();
            }

            @Override
            public void rest(long nanos) {
                LockSupport.parkNanos(nanos);
            }
        };

        long nanoTime();

        /** To whoever wants it. */
        void giveWay();

        void rest(long nanos);
    }

    /** @param spins whether nobody else wants the core */
    NetworkWait(boolean spins, Core core) {
        this.spins = spins;
        this.core = core;
    }

    /** @param localSize ranks of this host, each with a thread that communicates and one that computes */
    static NetworkWait of(int localSize) {
        boolean spins = 2 * localSize <= Processors.ofThisProcess(localSize).ofAll(localSize);
        return new NetworkWait(spins, Core.REAL);
    }

    /** A new wait. */
    void begin() {
        begun = core.nanoTime();
    }

    /** Nothing has come yet. */
    void pause() {
        if (core.nanoTime() - begun > LOOK_NANOS) {
            core.rest(REST_NANOS);
        } else if (!spins) {
            core.giveWay();
        }
    }
}
