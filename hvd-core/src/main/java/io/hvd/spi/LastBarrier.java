package io.hvd.spi;

import java.time.Duration;
import java.util.OptionalInt;

/**
 * A barrier at the end of a job. Until then a rank may work on alone for any length of time. Afterwards no rank has to
 * wait for another one, so a limit harms no healthy job.
 */
public interface LastBarrier extends AutoCloseable {
    /**
     * Waits until every rank has called this as often as this one, or until one of them is gone. On the communication
     * thread.
     *
     * @return whether all ranks have called it
     */
    boolean meet();

    /**
     * As {@link #meet}, before this rank joins another job of all ranks.
     *
     * @return a rank that has come to {@link #meet} or {@link #leave} instead, or is gone; empty if all join again
     */
    OptionalInt meetAgain();

    /**
     * Tells other ranks that may be waiting in {@link #meet} how this rank's process ends. Rank 0, which passes these
     * messages on, stays until all ranks have come, one has gone, or its time is over. Any thread may call it when the
     * communication thread no longer uses the barrier.
     *
     * @param well whether the process ends with exit code zero
     */
    void leave(boolean well, Duration limit);

    @Override
    void close();
}
