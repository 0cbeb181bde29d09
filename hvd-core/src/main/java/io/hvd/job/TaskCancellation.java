package io.hvd.job;

import io.hvd.error.ShutdownException;
import java.util.function.Consumer;

/** Ends what a task waits for, once its scheduler does not want it: while it joins something, and when it has joined. */
public final class TaskCancellation implements Consumer<String> {
    /** The thread that joins. */
    private final Thread joining = Thread.currentThread();
    /** Ends what the task has joined; null while it joins. */
    private Consumer<String> end;
    /** Empty while the task is wanted. */
    private String cancelled = "";

    private boolean over;

    /** The scheduler does not want the task. */
    @Override
    public void accept(String why) {
        Consumer<String> ends;
        synchronized (this) {
            cancelled = why;
            if (over) {
                return;
            }
            if (end == null) {
                joining.interrupt();
                return;
            }
            ends = end;
        }
        ends.accept(why);
    }

    /** The task has joined. @param ends what it has joined, on any thread */
    public void joined(Consumer<String> ends) {
        String why;
        synchronized (this) {
            end = ends;
            why = cancelled;
            if (!why.isEmpty()) {
                Thread.interrupted(); // it is this object's
            }
        }
        if (!why.isEmpty()) {
            ends.accept(why);
        }
    }

    /** @throws ShutdownException that says so if the task has not joined because the scheduler does not want it */
    public synchronized void notJoined(Throwable cause) {
        over = true;
        if (end == null && !cancelled.isEmpty()) {
            Thread.interrupted();
            throw new ShutdownException(cancelled, cause);
        }
    }

    /** The task waits for nothing any more. */
    public synchronized void over() {
        over = true;
    }
}
