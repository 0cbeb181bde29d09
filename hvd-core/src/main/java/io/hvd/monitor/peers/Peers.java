package io.hvd.monitor.peers;

import io.hvd.monitor.view.Activity;
import io.hvd.monitor.view.HangReport;
import io.hvd.monitor.view.LiveReport;
import io.hvd.monitor.view.ProcessState;
import io.hvd.monitor.view.RankProcess;
import io.hvd.net.Encryption;
import io.hvd.net.HostAddress;
import io.hvd.net.PortRange;
import io.hvd.spi.Backend;
import io.hvd.spi.Topology;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Connects the monitors of a job. No method waits for a rank for longer than its limit. The monitor closes it. */
public sealed interface Peers extends AutoCloseable permits SocketPeers, SharedPeers {
    /**
     * Finds the monitors of the other ranks; all ranks call it together. A rank that is alone needs no sockets.
     *
     * @param controlInterface the network interface that hvd's sockets use; empty for the host's own name
     * @param ports where they listen
     * @param encryption of their connections
     */
    static Peers connect(Backend backend, Optional<String> controlInterface, PortRange ports, Encryption encryption)
            throws IOException {
        Topology topology = backend.topology();
        return topology.size() == 1
                ? ofThreads(1, topology.host()).get(0)
                : SocketPeers.connect(
                        RankProcess.ofThisProcess(topology.rank(), topology.host()),
                        () -> HostAddress.of(topology.nodes(), controlInterface),
                        ports,
                        encryption,
                        backend::exchange);
    }

    /** The monitors of ranks that are threads of this process, each to be used by its own rank. */
    static List<Peers> ofThreads(int size, String host) {
        return SharedPeers.ofThreads(size, host);
    }

    int self();

    /** Every rank's process, by rank. */
    List<RankProcess> members();

    /** Tells this job from all others of the host: host and process of its first rank, the same on every rank. */
    default String job() {
        RankProcess first = members().get(0);
        return first.host() + ":" + first.pid();
    }

    /** Sets the respondent that answers the other ranks' questions from here on. */
    void serve(Respondent respondent);

    /** Sends a sign of life to the ranks that may have to report. */
    void publish(Activity activity);

    /** The last sign of life of every other rank that was heard, by rank. */
    Map<Integer, Heard> heard();

    /**
     * Asks other ranks what they are doing, all at once; a rank that does not answer in time is missing in the result.
     */
    Map<Integer, LiveReport> reports(Collection<Integer> ranks, Duration limit);

    /** Asks one rank what has become of another one's process; {@link ProcessState#UNKNOWN} if it does not answer. */
    ProcessState stateOf(RankProcess suspect, int witness, Duration limit);

    /** Whether a rank's host answers, which it does even if the rank's process is stopped or gone. */
    boolean reaches(int rank, Duration limit);

    /** Tells other ranks, all at once, that the job ends. */
    void end(HangReport report, Collection<Integer> ranks, Duration limit);

    /** Tells other ranks, all at once, that the job cannot go on. */
    void giveUp(String why, Collection<Integer> ranks, Duration limit);

    @Override
    void close();

    /**
     * A sign of life.
     *
     * @param atNanos when it came, in this process's {@link System#nanoTime()}
     */
    record Heard(Activity activity, long atNanos) {
        public long agoMillis() {
            return (System.nanoTime() - atNanos) / 1_000_000;
        }
    }

    /** Answers for one rank, on threads of the peers. */
    interface Respondent {
        LiveReport report();

        /** A job that hangs has been reported; the rank ends. */
        void end(HangReport report);

        /** Another rank has found that the job cannot go on. */
        void givenUp(String why);
    }
}
