package io.hvd.spi;

import io.hvd.error.ShutdownException;

/** Whether a job has been given up, and why. Any thread may use it. */
public final class Abandonment {
    private volatile String why;

    /** From now on {@link #check} throws. Only the first reason counts. */
    public synchronized void abandon(String reason) {
        if (why == null) {
            why = reason;
        }
    }

    public boolean isAbandoned() {
        return why != null;
    }

    /** @throws ShutdownException if the job has been given up */
    public void check() {
        if (why != null) {
            throw exception();
        }
    }

    /** The exception for those who wait for another rank of a job that has been given up. */
    public ShutdownException exception() {
        return new ShutdownException(why);
    }
}
