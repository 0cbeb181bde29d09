package io.hvd.backend.mpi;

import java.io.IOException;
import java.nio.channels.Selector;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * Waits on a selector no longer than it is asked to, also for less than the millisecond in which selectors count: then the
 * thread naps and looks in between. A longer wait sleeps in the selector and costs no processor time. One thread waits,
 * any thread may wake it.
 */
final class SelectorWait {
    private static final long MILLI_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    /** Between two looks of a nap, which is how late a message may be heard; a look costs about a microsecond. */
    private static final long LONGEST_NAP_NANOS = 50_000;

    private final Selector selector;
    private final Clock clock;
    private final AtomicBoolean woken = new AtomicBoolean();
    /** Null while nobody naps. */
    private volatile Thread napping;

    /** The time, and how a thread lets some of it pass. */
    interface Clock {
        Clock REAL = new Clock() {
            @Override
            public long nanoTime() {
                return System.nanoTime();
            }

            @Override
            public void park(long nanos) {
                LockSupport.parkNanos(nanos);
            }
        };

        long nanoTime();

        /** Ends early when the thread is unparked. */
        void park(long nanos);
    }

    SelectorWait(Selector selector, Clock clock) {
        this.selector = selector;
        this.clock = clock;
    }

    /**
     * Selects what is ready. Returns at once if something is or {@link #wakeUp()} has been called since the last time,
     * and may return earlier than asked.
     *
     * @param nanos longest wait; {@link Long#MAX_VALUE} means no limit
     */
    void select(long nanos) throws IOException {
        if (nanos == Long.MAX_VALUE) {
            selector.select();
        } else if (nanos >= MILLI_NANOS) {
            selector.select(TimeUnit.NANOSECONDS.toMillis(nanos));
        } else {
            nap(nanos);
        }
        woken.getAndSet(false); // what was done before the call is seen from here on
    }

    private void nap(long nanos) throws IOException {
        long end = clock.nanoTime() + nanos;
        long left = nanos;
        napping = Thread.currentThread();
        try {
            // In this order: who sets the flag after it was looked at here finds the thread, and ends its next nap.
            while (selector.selectNow() == 0 && left > 0 && !woken.get()) {
                clock.park(Math.min(left, LONGEST_NAP_NANOS));
                left = end - clock.nanoTime();
            }
        } finally {
            napping = null;
        }
    }

    /** Ends a wait, or else the next one. */
    void wakeUp() {
        woken.set(true);
        selector.wakeup();
        LockSupport.unpark(napping);
    }
}
