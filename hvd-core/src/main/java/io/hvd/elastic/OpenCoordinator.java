package io.hvd.elastic;

import io.hvd.net.Encryption;
import io.hvd.net.PortRange;
import io.hvd.net.ServerSockets;
import io.hvd.rendezvous.Meeting;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The coordinator of an elastic job whose workers others start, such as Kubernetes. They come by themselves, with
 * {@code HVD_RENDEZVOUS=elastic=host:port} and the job's secret; whoever starts another one in place of one that has ended
 * need not say so. Any process may have it that outlives the workers.
 */
public final class OpenCoordinator implements AutoCloseable {
    /** Workers hang up when they have been told the end. */
    private static final long LAST_WORDS_MILLIS = 10_000;
    /** So often the system chooses a port, which may be taken at another address. */
    private static final int CHOICES = 10;

    private final CoordinatorServer server;
    private final int port;
    private final Decisions decisions;

    /**
     * What the coordinator is told of its job.
     *
     * @param port at which workers come; 0 for any that is free, of {@code ports}
     * @param secret by which they are recognised, of {@link io.hvd.net.HandshakeListener#SECRET_BYTES} bytes
     * @param limits how many they may be
     * @param meetingLimit within which the ranks of a generation must have met
     * @param interfaces comma list of the network interfaces where this process listens; empty for all that lead out
     * @param ports where the ranks of a generation meet, and what is chosen from
     */
    public record Terms(
            int port,
            byte[] secret,
            ElasticLimits limits,
            Duration meetingLimit,
            String interfaces,
            PortRange ports,
            Encryption encryption) {}

    private OpenCoordinator(CoordinatorServer server, int port, Decisions decisions) {
        this.server = server;
        this.port = port;
        this.decisions = decisions;
    }

    /** Begins to wait for workers, on daemon threads. @param out gets a sentence about each that comes or goes */
    public static OpenCoordinator start(Terms terms, Consumer<String> out) throws IOException {
        terms.encryption().requireKey();
        List<InetAddress> outer = ServerSockets.addresses(terms.interfaces());
        BindException taken = null;
        for (PortRange at : attempts(terms)) {
            try {
                return start(terms, at, outer, out);
            } catch (BindException e) {
                taken = e; // perhaps at one address alone
            }
        }
        throw taken;
    }

    /** All addresses get the same port. */
    private static List<PortRange> attempts(Terms terms) {
        if (terms.port() != 0) {
            return List.of(new PortRange(terms.port(), terms.port()));
        }
        return terms.ports().equals(PortRange.ANY)
                ? Collections.nCopies(CHOICES, PortRange.ANY)
                : IntStream.rangeClosed(terms.ports().first(), terms.ports().last())
                        .mapToObj(port -> new PortRange(port, port))
                        .toList();
    }

    private static OpenCoordinator start(Terms terms, PortRange at, List<InetAddress> outer, Consumer<String> out)
            throws IOException {
        List<InetAddress> here = List.of(InetAddress.getLoopbackAddress());
        CoordinatorServer.Meetings meetings = hosts -> Meeting.at(
                outer.isEmpty() ? here : outer, terms.ports(), terms.encryption(), terms.meetingLimit(), hosts);
        return ServerSockets.listen(here, at, inside -> {
            int port = port(inside);
            return ServerSockets.listen(outer, new PortRange(port, port), outside -> {
                var decisions = new Decisions(out);
                List<ServerSocketChannel> all =
                        Stream.concat(inside.stream(), outside.stream()).toList();
                CoordinatorServer server = CoordinatorServer.start(
                        all, terms.secret(), terms.encryption(), terms.limits(), meetings, decisions);
                return new OpenCoordinator(server, port, decisions);
            });
        });
    }

    private static int port(List<ServerSocketChannel> sockets) throws IOException {
        return ((InetSocketAddress) sockets.get(0).getLocalAddress()).getPort();
    }

    /** Says that a generation begins. */
    public static String begins(int generation, List<Integer> workers) {
        return "generation " + generation + " begins with " + workers.size() + " ranks, of workers " + workers;
    }

    /** Where it waits. */
    public int port() {
        return port;
    }

    /** Waits for the end of the job, of which its workers have been told then. @return why it has failed; empty if it has not */
    public String await() throws InterruptedException {
        synchronized (decisions) {
            while (decisions.end.isEmpty()) {
                decisions.wait();
            }
        }
        server.awaitNobody(LAST_WORDS_MILLIS);
        return end().orElseThrow();
    }

    /** Why the job has failed, or that it has not, by an empty text; nothing before its end. */
    public Optional<String> end() {
        synchronized (decisions) {
            return decisions.end;
        }
    }

    /** The workers that had ranks at the end of the training, or have now. */
    public int members() {
        synchronized (decisions) {
            return decisions.members;
        }
    }

    /** What has failed in the programs of workers behind the end of the training. */
    public List<String> failuresBehindTheEnd() {
        synchronized (decisions) {
            return List.copyOf(decisions.late);
        }
    }

    /** Ends a job that goes on: its workers find the coordinator gone. */
    @Override
    public void close() {
        server.close();
    }

    private static final class Decisions implements CoordinatorServer.Events {
        private final Consumer<String> out;
        private final List<String> late = new ArrayList<>();
        private Optional<String> end = Optional.empty();
        private int members;

        Decisions(Consumer<String> out) {
            this.out = out;
        }

        @Override
        public void say(String sentence) {
            out.accept(sentence);
        }

        @Override
        public synchronized void begun(int generation, List<Integer> workers) {
            members = workers.size();
            say(begins(generation, workers));
        }

        @Override
        public void refused(int worker, String why) {
            // It ends by itself, and why it is lost has been said.
        }

        @Override
        public synchronized void finished(String failure) {
            end = Optional.of(failure);
            notifyAll();
        }

        @Override
        public synchronized void failedBehindTheEnd(String worker, String why) {
            late.add(worker + " has failed behind the end of the training: " + why);
        }
    }
}
