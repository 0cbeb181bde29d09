package io.hvd.transport.mpi;

import io.hvd.spi.Progress;
import java.util.function.LongSupplier;

/**
 * Tells when a thread that sleeps outside MPI must call into it again. An MPI implementation may return from a call
 * that sends while the last of the message still waits in its own queue for room in a socket, and only another call of
 * the same process moves it on (MPI-4.0, section 3.5, on progress). Without it the receiver would wait for as long as
 * this process computes. The first call comes soon after MPI has sent something, and each further one after twice the
 * time, up to a limit at which it costs nothing. It is made on the communication thread.
 */
final class MpiProgress implements Progress {
    static final long FIRST_NANOS = 1_000_000;
    static final long LONGEST_NANOS = 100_000_000;

    private final Runnable mpiCall;
    private final LongSupplier clock;
    private final Thread communication = Thread.currentThread();
    private volatile boolean pending;
    private boolean fresh;
    private long interval;
    private long due;

    /**
     * @param mpiCall lets MPI do what is due, and does not wait
     * @param clock the time in nanoseconds
     */
    MpiProgress(Runnable mpiCall, LongSupplier clock) {
        this.mpiCall = mpiCall;
        this.clock = clock;
    }

    @Override
    public boolean isPending() {
        return pending;
    }

    @Override
    public void delivered() {
        pending = false;
    }

    /** MPI is about to be given something to send; called before the call of MPI. */
    void sent() {
        pending = true;
        fresh = true;
    }

    @Override
    public long make() {
        if (!pending || Thread.currentThread() != communication) {
            return Long.MAX_VALUE;
        }
        long now = clock.getAsLong();
        if (fresh) {
            fresh = false;
            interval = FIRST_NANOS;
            due = now + interval;
        } else if (now - due >= 0) {
            mpiCall.run();
            interval = Math.min(LONGEST_NANOS, 2 * interval);
            due = now + interval;
        }
        return due - now;
    }
}
