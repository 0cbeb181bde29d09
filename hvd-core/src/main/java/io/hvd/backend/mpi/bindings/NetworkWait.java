package io.hvd.backend.mpi.bindings;

import io.hvd.config.Processors;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;

/**
 * How a thread waits for what comes over the network. It spins for a moment where no other thread of this host wants its
 * core; then, and elsewhere at once, it rests between two looks: the sockets go on for longer than that, and whoever spins
 * is taken off a core that others want, while whoever wakes up gets it. By one thread at a time.
 */
final class NetworkWait {
    /** On a fast network what is awaited is there by then. */
    private static final long SPIN_NANOS = 50_000;

    private static final long REST_NANOS = 20_000;

    private final boolean spins;
    private final LongSupplier clock;
    private final LongConsumer sleep;
    private long begun;

    NetworkWait(boolean spins, LongSupplier clock, LongConsumer sleep) {
        this.spins = spins;
        this.clock = clock;
        this.sleep = sleep;
    }

    /** @param localSize ranks of this host, each with a thread that communicates and one that computes */
    static NetworkWait of(int localSize) {
        boolean spins = 2 * localSize <= Processors.ofThisProcess(localSize).ofAll(localSize);
        return new NetworkWait(spins, System::nanoTime, LockSupport::parkNanos);
    }

    /** A new wait. */
    void begin() {
        if (spins) {
            begun = clock.getAsLong();
        }
    }

    /** Nothing has come yet. */
    void pause() {
        if (!spins || clock.getAsLong() - begun > SPIN_NANOS) {
            sleep.accept(REST_NANOS);
        }
    }
}
