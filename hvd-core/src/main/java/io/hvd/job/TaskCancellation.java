package io.hvd.job;

import io.hvd.error.ShutdownException;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;

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

    /**
     * Joins something on the task's thread.
     *
     * @param join an interrupt of the thread ends it
     * @param ends ends what has been joined, on any thread, and says why
     * @throws ShutdownException if the scheduler does not want the task before it has joined
     */
    public <T> T joining(Supplier<T> join, BiConsumer<T, String> ends) {
        try {
            T made = join.get();
            joined(why -> ends.accept(made, why));
            return made;
        } catch (RuntimeException | Error e) {
            notJoined(e);
            throw e;
        }
    }

    private void joined(Consumer<String> ends) {
        String why;
        synchronized (this) {
            end = ends;
            why = cancelled;
            takeBackInterrupt();
        }
        if (!why.isEmpty()) {
            ends.accept(why);
        }
    }

    private synchronized void notJoined(Throwable cause) {
        over = true;
        if (end == null && !cancelled.isEmpty()) {
            takeBackInterrupt();
            throw new ShutdownException(cancelled, cause);
        }
    }

    /** The task waits for nothing any more. On its thread, which goes on with other tasks. */
    public synchronized void over() {
        over = true;
        if (end == null) {
            takeBackInterrupt();
        }
    }

    private void takeBackInterrupt() {
        if (!cancelled.isEmpty()) {
            Thread.interrupted();
        }
    }
}
