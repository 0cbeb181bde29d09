package io.hvd.engine.loop;

import io.hvd.spi.ControlChannel;

/**
 * Wakes the communication thread, and remembers that it has been called, so that the thread can tell a call from the end
 * of the time for which it wanted to sleep. Any thread may ring.
 */
public final class Wakeup {
    private final ControlChannel control;
    private volatile boolean rung;

    public Wakeup(ControlChannel control) {
        this.control = control;
    }

    /** Wakes the communication thread for what the caller has changed before. */
    public void ring() {
        rung = true; // before the wake-up, which may end with a sleep whose time is over
        control.wakeUp();
    }

    /** Whether it has been rung since {@link #answer}. */
    public boolean isRung() {
        return rung;
    }

    /** The communication thread is awake, and looks next at everything that may have been changed. */
    public void answer() {
        rung = false;
    }

    /** Sleeps until it is rung, a message comes or the time is over; only the communication thread calls this. */
    public void sleep(long nanos, ControlChannel.Inbox inbox) {
        control.receive(nanos, inbox);
    }
}
