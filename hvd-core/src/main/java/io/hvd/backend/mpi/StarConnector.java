package io.hvd.backend.mpi;

import io.hvd.config.HvdConfig;
import io.hvd.net.FramedConnection;
import io.hvd.net.HandshakeListener;
import io.hvd.net.HostAddress;
import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import io.hvd.spi.Topology;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;

/**
 * Brings up the star: rank 0 listens on one address with a port chosen by the system, tells everybody
 * the address and a secret over MPI, and accepts those who know the secret.
 */
final class StarConnector implements AutoCloseable {

    private final Topology topology;
    private final HvdConfig config;
    private final long deadline;
    private final byte[] secret = HandshakeListener.newSecret();
    /** Rank 0's, as its address; null elsewhere. */
    private HandshakeListener listener;

    private InetSocketAddress address;
    /** The other ranks' end of their connection, until it is made. */
    private SocketChannel own;

    StarConnector(Topology topology, HvdConfig config) {
        this.topology = topology;
        this.config = config;
        this.deadline = System.nanoTime() + config.startTimeoutSeconds() * 1_000_000_000L;
    }

    /** Takes a connection as soon as it is made. */
    interface Star {
        void add(int rank, FramedConnection connection) throws IOException;
    }

    /**
     * Opens the sockets, so that a rank that has none left fails before another one waits for it.
     *
     * @return what rank 0 has to tell the others before they connect; nothing elsewhere
     */
    byte[] invite() throws IOException {
        if (topology.rank() > 0) {
            own = SocketChannel.open();
        }
        if (topology.rank() > 0 || topology.size() == 1) {
            return new byte[0];
        }
        ServerSocketChannel socket =
                HandshakeListener.bind(HostAddress.of(topology.nodes(), config.controlInterface()));
        address = (InetSocketAddress) socket.getLocalAddress();
        listener = new HandshakeListener(List.of(socket));
        return new Meeting(address, secret).encode();
    }

    /** Makes the connection to every other rank on rank 0, to rank 0 everywhere else. @param invitation rank 0's */
    void connect(byte[] invitation, Star star) throws IOException {
        if (topology.rank() > 0) {
            dial(Meeting.decode(invitation), star);
        } else if (topology.size() > 1) {
            acceptAll(star);
        }
    }

    private void acceptAll(Star star) throws IOException {
        Set<Integer> connected = new HashSet<>();
        while (connected.size() < topology.size() - 1) {
            HandshakeListener.Accepted accepted = listener.next(secret, Math.max(1, deadline - System.nanoTime()))
                    .orElseThrow(() -> missing(connected));
            int rank = accepted.number();
            if (rank > 0 && rank < topology.size() && connected.add(rank)) {
                star.add(rank, accepted.connection());
            } else {
                accepted.connection().close();
            }
        }
    }

    private IOException missing(Set<Integer> connected) {
        TreeSet<Integer> missing =
                new TreeSet<>(IntStream.range(1, topology.size()).boxed().toList());
        missing.removeAll(connected);
        return new IOException("ranks " + missing + " on "
                + missing.stream().map(topology.hosts()::get).distinct().toList() + " did not connect to " + address
                + " in time; check the network between the hosts, name the interface"
                + " with HOROVOD_GLOO_IFACE, or allow more with horovodrun --start-timeout or HOROVOD_START_TIMEOUT");
    }

    private void dial(Meeting meeting, Star star) throws IOException {
        int left = (int) Math.max(1, (deadline - System.nanoTime()) / 1_000_000);
        star.add(0, FramedConnection.dial(own, meeting.address, meeting.secret, topology.rank(), left));
        own = null;
    }

    /** Nobody is accepted any more, and a connection that was not made is given up. */
    @Override
    public void close() {
        try {
            if (listener != null) {
                listener.close();
            }
            if (own != null) {
                own.close();
            }
        } catch (IOException e) {
            // It is being given up anyway.
        }
    }

    /** Where rank 0 waits, and what to say there. */
    record Meeting(InetSocketAddress address, byte[] secret) {
        byte[] encode() {
            return MessageWriter.encode(out -> {
                out.writeSocketAddress(address);
                out.writeBytes(secret);
            });
        }

        static Meeting decode(byte[] bytes) {
            return MessageReader.decode(
                    "where rank 0 waits", bytes, in -> new Meeting(in.readSocketAddress(), in.readBytes()));
        }
    }
}
