package io.hvd.engine.loop;

import io.hvd.engine.message.Announcement;
import io.hvd.engine.message.Announcement.Wishes;
import io.hvd.error.ShutdownException;
import io.hvd.spi.Topology;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * How this rank leaves the job: its program has closed it, or the job cannot go on. Program threads ask for it, and the
 * communication thread tells the coordinator.
 */
public final class Departure {
    private final String self;
    private final Consumer<String> onFailure;
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private final AtomicBoolean givenUp = new AtomicBoolean();

    private volatile boolean closing;
    private volatile Runnable farewell = () -> {};
    private volatile String failure = "";

    // Only the communication thread uses the following fields.
    private boolean closingAnnounced;
    private boolean failureAnnounced;

    /** @param onFailure called once when the job cannot go on */
    Departure(Topology topology, Consumer<String> onFailure) {
        this.self = "rank " + topology.rank() + " (" + topology.host() + ")";
        this.onFailure = onFailure;
    }

    /**
     * The program has nothing more to submit; any thread.
     *
     * @param last runs when all ranks have closed
     */
    public void close(Runnable last) {
        farewell = last;
        closing = true;
    }

    /** This rank cannot go on; any thread. */
    public void fail(String why) {
        failure = why;
    }

    /** Waits until the communication thread has ended; any thread. */
    public void awaitEnd() {
        ended.join();
    }

    /** Waits until the communication thread has ended, or the time is over, in which case the answer is false. */
    public boolean awaitEnd(long limitMillis) {
        try {
            ended.get(limitMillis, TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException | ExecutionException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** The communication thread has ended. */
    void end() {
        ended.complete(null);
    }

    /** The job cannot go on; any thread. */
    void giveUp(String why) {
        if (givenUp.compareAndSet(false, true)) {
            onFailure.accept(why);
        }
    }

    /**
     * The job cannot go on because of an exception; any thread.
     *
     * @return why
     */
    String broken(Throwable cause) {
        String why = cause instanceof ShutdownException consequence
                ? consequence.words()
                : self + ": the communication thread failed: " + cause;
        giveUp(why);
        return why;
    }

    boolean isClosing() {
        return closing;
    }

    /** What the program runs when all ranks have closed. */
    Runnable farewell() {
        return farewell;
    }

    /** Whether the coordinator does not know yet that the program has closed. */
    boolean isClosingNews() {
        return closing != closingAnnounced;
    }

    /** Whether the coordinator does not know yet that this rank has failed. */
    boolean isFailureNews() {
        return !failure.isEmpty() && !failureAnnounced;
    }

    /**
     * Makes an announcement that says as well how this rank leaves.
     *
     * @param inPlan whether a static plan holds. The rank leaves it before it announces that it closes; a failure is
     *     announced at once
     */
    Announcement announce(List<Wishes> wishes, boolean inPlan) {
        String why = failure;
        closingAnnounced = closing && !inPlan;
        failureAnnounced = !why.isEmpty();
        return new Announcement(wishes, closingAnnounced, why);
    }
}
