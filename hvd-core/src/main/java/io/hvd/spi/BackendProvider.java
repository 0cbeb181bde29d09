package io.hvd.spi;

import io.hvd.config.HvdConfig;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executor;

/** Makes back ends of one kind. */
public interface BackendProvider {
    /** The short name by which a setting chooses this provider. */
    String name();

    /** The thread on which {@link #open} and all later calls must run; it is a daemon. */
    Executor communicationThread();

    /**
     * Connects this rank to the others.
     *
     * @param ranks world ranks that take part, in their new order; empty means all ranks
     */
    Backend open(HvdConfig config, List<Integer> ranks);

    /**
     * Waits on the communication thread until every rank of the job is about to call {@link #finish}, which may take as
     * long as a rank works on alone. Further calls return the same result at once.
     *
     * @return whether all ranks are; false if a rank is gone, or if there is no way to tell
     */
    boolean meet();

    /**
     * This rank's process is about to end, after {@link #finish}. The thread that ends the process calls this.
     *
     * @param well whether the exit code is zero
     * @param waits whether this call waits for all ranks to come here, because {@link #finish} has not returned
     * @param limit how long it may stay for others that wait, if it does not wait itself
     * @return true if it has waited, and the processes of all ranks are about to end with exit code zero
     */
    boolean leave(boolean well, boolean waits, Duration limit);

    /** Ends for good what outlives a back end, after every rank has closed its last one. */
    void finish();
}
