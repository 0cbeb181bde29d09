package io.hvd.monitor;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * How the monitors of a job reach each other. Nothing here waits for a rank for longer than it is
 * told to. Closed by its monitor.
 */
public sealed interface Peers extends AutoCloseable permits SocketPeers, SharedPeers {
    int self();

    /** Every rank's process, by rank. */
    List<Member> members();

    /** From here on the other ranks' questions are answered by this. */
    void serve(Respondent respondent);

    /** Gives a sign of life to those who may have to report. */
    void publish(Activity activity);

    /** The last sign of life of every other rank that was heard, by rank. */
    Map<Integer, Heard> heard();

    /** Asks other ranks what they are doing, all at once; who does not answer in time is missing in the result. */
    Map<Integer, LiveReport> reports(Collection<Integer> ranks, Duration limit);

    /** Asks one rank what has become of another one's process; {@link ProcessState#UNKNOWN} if it does not answer. */
    ProcessState stateOf(Member suspect, int witness, Duration limit);

    /** Whether a rank's host answers at all, which it does also for a process that is stopped or gone. */
    boolean reaches(int rank, Duration limit);

    /** Tells other ranks, all at once, that the job ends. */
    void end(HangReport report, Collection<Integer> ranks, Duration limit);

    @Override
    void close();

    /**
     * A sign of life.
     *
     * @param atNanos when it came, in this process's {@link System#nanoTime()}
     */
    record Heard(Activity activity, long atNanos) {
        long agoMillis() {
            return (System.nanoTime() - atNanos) / 1_000_000;
        }
    }

    /** Answers for one rank, on threads of the peers. */
    interface Respondent {
        LiveReport report();

        /** A job that hangs has been reported; the rank ends. */
        void end(HangReport report);
    }
}
