package io.hvd.job;

import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Asks, on a thread of its own, whether the scheduler of a cluster still wants a task. */
public final class TaskWatch implements AutoCloseable {
    private static final long PAUSE_MILLIS = 100;

    private final String task;
    private final Supplier<Optional<String>> cancelled;
    private final Consumer<String> end;
    private final CountDownLatch over = new CountDownLatch(1);

    /**
     * Begins to ask.
     *
     * @param task what it is called, for messages
     * @param cancelled why the scheduler does not want the task; empty while it does
     * @param end is told once
     */
    public TaskWatch(String task, Supplier<Optional<String>> cancelled, Consumer<String> end) {
        this.task = task;
        this.cancelled = cancelled;
        this.end = end;
        Thread thread =
                new Thread(this::run, "hvd-task-watch-" + Thread.currentThread().getName());
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        try {
            while (!over.await(PAUSE_MILLIS, TimeUnit.MILLISECONDS)) {
                Optional<String> why = asked();
                if (why.isPresent()) {
                    end.accept("the scheduler has cancelled " + task + ": " + why.get());
                    return;
                }
            }
        } catch (InterruptedException e) {
            // Nobody interrupts this thread but the end of the process.
        }
    }

    /** A scheduler that cannot be asked could never end what the task waits for. */
    private Optional<String> asked() {
        try {
            return cancelled.get();
        } catch (RuntimeException e) {
            return Optional.of("whether it is wanted cannot be asked any more: " + e);
        }
    }

    @Override
    public void close() {
        over.countDown();
    }
}
