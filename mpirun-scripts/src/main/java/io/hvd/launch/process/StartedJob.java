package io.hvd.launch.process;

import io.hvd.launch.failure.LastLines;
import io.hvd.launch.failure.ObservedFailure;
import java.io.IOException;
import java.util.Optional;

/** The ranks of one job. One thread runs them to their end; any other thread may signal or end them. */
public interface StartedJob {

    /**
     * Starts the ranks and waits for their end.
     *
     * @return 0, or the exit code of a rank that has failed, or of what has started the ranks
     */
    int run() throws IOException, InterruptedException;

    /** Hands a signal on to the ranks; before the start it is lost. @param signal its name, such as USR1 */
    void send(String signal);

    /** Ends the ranks: politely, then by force. Returns when they are gone; safe at any time. */
    void end();

    /** The job has ended, and its folder is gone: nothing is left to be done if this process is killed now. */
    void release();

    /** Whether {@link #end} was called. */
    boolean ending();

    /** The first failure that was seen, in words. */
    Optional<ObservedFailure> firstFailure();

    /** The last lines of ranks on standard error, only those of this rank if they are told apart. */
    LastLines.Said lastLines(int ofRank);
}
