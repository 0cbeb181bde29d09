package io.hvd.elastic;

import java.util.Comparator;
import java.util.PriorityQueue;

/** A clock in milliseconds that jumps from one thing that is to happen to the next. */
final class VirtualTime {
    private record Task(long millis, long order, Runnable action) {}

    private final PriorityQueue<Task> tasks =
            new PriorityQueue<>(Comparator.comparingLong(Task::millis).thenComparingLong(Task::order));
    private long now;
    private long scheduled;

    long now() {
        return now;
    }

    void after(long millis, Runnable action) {
        tasks.add(new Task(now + millis, scheduled++, action));
    }

    /** Goes on to the next thing that is to happen; there always is one, since the coordinator's clock ticks. */
    void next() {
        Task task = tasks.remove();
        now = task.millis();
        task.action().run();
    }
}
