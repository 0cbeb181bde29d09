package io.hvd.spi;

import io.hvd.config.HvdConfig;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executor;

/** Makes back ends of one kind. */
public interface BackendProvider {
    /** Short name, as in the setting that picks it. */
    String name();

    /** The thread on which {@link #open} and everything that follows must run; a daemon. */
    Executor communicationThread();

    /**
     * Connects this rank to the others.
     *
     * @param ranks world ranks that take part, in their new order; empty means all
     */
    Backend open(HvdConfig config, List<Integer> ranks);

    /**
     * Waits until every rank of the job is about to call {@link #finish}, which may take as long as a rank works on alone.
     * Called again, it returns the same at once. On the communication thread.
     *
     * @return whether all of them are; false where a rank is gone, or there is no way to tell
     */
    default boolean meet() {
        return true;
    }

    /**
     * This rank's process is about to end, after {@link #finish}. On the thread that ends it.
     *
     * @param well whether with exit code zero
     * @param waits whether it waits for all ranks to come here, because {@link #finish} has not returned
     * @param limit how long it may stay for others that wait, if it does not wait itself
     * @return whether it has waited, and the processes of all ranks are about to end well
     */
    default boolean leave(boolean well, boolean waits, Duration limit) {
        return false;
    }

    /** Ends for good what outlives a back end, after the last one was closed on every rank. */
    default void finish() {}
}
