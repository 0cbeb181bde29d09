package io.hvd.job;

import io.hvd.error.ShutdownException;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Asks, on a thread of its own, whether the scheduler still wants a rank. If not, whatever the rank waits for ends. */
final class TaskWatch implements AutoCloseable {
    private static final long PAUSE_MILLIS = 100;

    private final TaskPlace place;
    /** The thread that joins. */
    private final Thread rank = Thread.currentThread();

    private final CountDownLatch over = new CountDownLatch(1);
    /** Null while the rank joins. */
    private Membership member;

    /** Why the scheduler does not want the rank; empty while it does. */
    private String cancelled = "";

    private boolean joining = true;

    TaskWatch(TaskPlace place) {
        this.place = place;
        Thread thread = new Thread(this::run, "hvd-task-watch-" + place.rank());
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        try {
            while (!over.await(PAUSE_MILLIS, TimeUnit.MILLISECONDS)) {
                Optional<String> why = place.cancelled().get();
                if (why.isPresent()) {
                    cancel("the scheduler has cancelled the task of rank " + place.rank() + ": " + why.get());
                    return;
                }
            }
        } catch (InterruptedException e) {
            // Nobody interrupts this thread but the end of the process.
        }
    }

    private synchronized void cancel(String why) {
        cancelled = why;
        if (member != null) {
            member.giveUpFor(why);
        } else if (joining) {
            rank.interrupt();
        }
    }

    synchronized void joined(Membership membership) {
        member = membership;
        joining = false;
        if (!cancelled.isEmpty()) {
            Thread.interrupted(); // it is this watch's
            membership.giveUpFor(cancelled);
        }
    }

    /** @throws ShutdownException that says so if it has failed because the scheduler does not want the rank */
    synchronized void notJoined(Throwable cause) {
        joining = false;
        if (member == null && !cancelled.isEmpty()) {
            Thread.interrupted();
            throw new ShutdownException(cancelled, cause);
        }
    }

    @Override
    public synchronized void close() {
        joining = false;
        over.countDown();
    }
}
