package io.hvd.control;

import java.io.IOException;
import java.nio.channels.Selector;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * Waits on a selector for no longer than asked, even for less than the millisecond that selectors count in: the thread
 * then naps and looks in between. A longer wait sleeps in the selector and takes no processor time. One thread waits,
 * any thread may wake it.
 */
final class SelectorWait {
    private static final long MILLI_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    /**
     * The time between two looks of a nap, which is how late a message may be noticed; a look takes about a
     * microsecond.
     */
    private static final long LONGEST_NAP_NANOS = 50_000;

    private final Selector selector;
    private final Clock clock;
    private final AtomicBoolean woken = new AtomicBoolean();
    /** The thread that naps, or null. */
    private volatile Thread napping;

    /** The time, and a way to let some of it pass. */
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
     * Selects the keys that are ready. Returns at once if there are any or if {@link #wakeUp()} has been called since
     * the last time, and may return earlier than asked.
     *
     * @param nanos the longest wait in nanoseconds; {@link Long#MAX_VALUE} means no limit
     */
    void select(long nanos) throws IOException {
        if (nanos == Long.MAX_VALUE) {
            selector.select();
        } else if (nanos >= MILLI_NANOS) {
            selector.select(TimeUnit.NANOSECONDS.toMillis(nanos));
        } else {
            nap(nanos);
        }
        woken.getAndSet(false); // everything done before the call to wakeUp is visible from here on
    }

    private void nap(long nanos) throws IOException {
        long end = clock.nanoTime() + nanos;
        long left = nanos;
        napping = Thread.currentThread();
        try {
            // The order matters: a thread that sets the flag after this look finds the napping thread, and ends its
            // next nap.
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
