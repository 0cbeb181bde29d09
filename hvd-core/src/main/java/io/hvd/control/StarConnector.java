package io.hvd.control;

import io.hvd.config.HvdConfig;
import io.hvd.config.HvdProgram;
import io.hvd.log.HvdLogger;
import io.hvd.net.FramedConnection;
import io.hvd.net.HandshakeListener;
import io.hvd.net.HostAddress;
import io.hvd.net.Invitation;
import io.hvd.spi.Topology;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

/**
 * Connects one star or several: rank 0 listens at one address with a port that the system chooses, tells all ranks the
 * address and a secret by the exchange at the start, and accepts connections that know the secret. The number in their hello is the star's
 * number times the number of ranks, plus the rank.
 */
final class StarConnector implements AutoCloseable {

    private static final HvdLogger LOG = HvdLogger.of(StarConnector.class);

    private static final int PAUSE_MILLIS = 100;

    private final Topology topology;
    private final HvdConfig config;
    private final int stars;
    private final long deadline;
    private final byte[] secret = HandshakeListener.newSecret();
    /** The listener on rank 0, as its address; null on the other ranks. */
    private HandshakeListener listener;

    private InetSocketAddress address;
    /** The other ranks' sockets, by star, until they are connected. */
    private final Deque<SocketChannel> own = new ArrayDeque<>();

    StarConnector(Topology topology, HvdConfig config, int stars) {
        this.topology = topology;
        this.config = config;
        this.stars = stars;
        this.deadline = System.nanoTime() + config.control().startTimeoutSeconds() * 1_000_000_000L;
    }

    /** Receives each connection as soon as it is made. */
    interface Stars {
        void add(int star, int rank, FramedConnection connection) throws IOException;
    }

    int stars() {
        return stars;
    }

    /**
     * Opens the sockets in advance, so that a rank that cannot open any fails before another rank waits for it.
     *
     * @return the invitation that rank 0 sends the others before they connect; empty on the other ranks
     */
    byte[] invite() throws IOException {
        for (int star = 0; star < stars && topology.rank() > 0; star++) {
            own.add(SocketChannel.open());
        }
        if (topology.rank() > 0 || topology.size() == 1) {
            return new byte[0];
        }
        ServerSocketChannel socket = HandshakeListener.bind(
                HostAddress.of(topology.nodes(), config.control().networkInterface()),
                config.control().ports());
        address = (InetSocketAddress) socket.getLocalAddress();
        listener = new HandshakeListener(List.of(socket), config.control().encryption());
        return new Invitation(address, secret).encode();
    }

    /**
     * Makes the connections: to every other rank on rank 0, to rank 0 on the others.
     *
     * @param invitation rank 0's invitation
     */
    void connect(byte[] invitation, Stars to) throws IOException {
        if (topology.rank() > 0) {
            dial(Invitation.decode(invitation), to);
        } else if (topology.size() > 1) {
            acceptAll(to);
        }
    }

    private void acceptAll(Stars to) throws IOException {
        Set<Integer> missing = new TreeSet<>(IntStream.range(0, stars * topology.size())
                .filter(number -> rank(number) > 0)
                .boxed()
                .toList());
        while (!missing.isEmpty()) {
            HandshakeListener.Accepted accepted = listener.next(secret, Math.max(1, deadline - System.nanoTime()))
                    .orElseThrow(() -> missing(missing));
            int number = accepted.number();
            if (missing.remove(number)) {
                to.add(number / topology.size(), rank(number), accepted.connection());
            } else {
                accepted.connection().close();
            }
        }
    }

    private int rank(int number) {
        return number % topology.size();
    }

    private IOException missing(Set<Integer> numbers) {
        Set<Integer> missing = new TreeSet<>(numbers.stream().map(this::rank).toList());
        return new IOException("ranks " + missing + " on "
                + missing.stream().map(topology.hosts()::get).distinct().toList() + " did not connect to " + address
                + " in time; check the network between the hosts, name the interface"
                + " with HOROVOD_GLOO_IFACE, or allow more with HOROVOD_START_TIMEOUT or --start-timeout of "
                + HvdProgram.HOROVODRUN.eitherWay() + listener.refused());
    }

    private void dial(Invitation invitation, Stars to) throws IOException {
        for (int star = 0; star < stars; star++) {
            to.add(star, 0, dial(invitation, star * topology.size() + topology.rank()));
            own.remove();
        }
    }

    /** A route or a rule of the network may come late, so a refusal counts only once the time is over. */
    private FramedConnection dial(Invitation invitation, int number) throws IOException {
        boolean told = false;
        while (true) {
            try {
                own.peek().socket().connect(invitation.address(), millisLeft());
                return FramedConnection.greet(
                        own.peek(), config.control().encryption(), invitation.secret(), number, millisLeft());
            } catch (ConnectException | NoRouteToHostException e) {
                if (millisLeft() <= PAUSE_MILLIS) {
                    throw e;
                }
                if (!told) {
                    LOG.warn(
                            "rank {} does not reach rank 0 at {} yet ({}); it tries for {} s, as HOROVOD_START_TIMEOUT says",
                            topology.rank(),
                            invitation.address(),
                            e.getMessage(),
                            config.control().startTimeoutSeconds());
                    told = true;
                }
                own.remove().close();
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(PAUSE_MILLIS));
                own.addFirst(SocketChannel.open());
            }
        }
    }

    private int millisLeft() {
        return (int) Math.max(1, (deadline - System.nanoTime()) / 1_000_000);
    }

    /** Accepts no more connections, and closes those that were not completed. */
    @Override
    public void close() {
        try {
            if (listener != null) {
                listener.close();
            }
            for (SocketChannel one : own) {
                one.close();
            }
        } catch (IOException e) {
            // The connection is being closed anyway.
        }
    }
}
