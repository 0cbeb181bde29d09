package io.hvd.spi;

import io.hvd.config.HvdConfig;
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

    /** Ends for good what outlives a back end, after the last one was closed on every rank. */
    default void finish() {}
}
