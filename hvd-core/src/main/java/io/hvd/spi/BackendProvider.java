package io.hvd.spi;

import io.hvd.config.HvdConfig;
import java.util.List;
import java.util.concurrent.Executor;

/** Makes back ends of one kind. */
public interface BackendProvider {
    /** A short name for messages. */
    String name();

    /** The thread on which {@link #open} and all later calls of the back end must run; it is a daemon. */
    Executor communicationThread();

    /**
     * Connects this rank to the others.
     *
     * @param ranks ranks of the launcher's job that take part, in their new order; empty means all ranks
     */
    Backend open(HvdConfig config, List<Integer> ranks);
}
