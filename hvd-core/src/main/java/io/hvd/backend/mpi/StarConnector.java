package io.hvd.backend.mpi;

import io.hvd.config.HvdConfig;
import io.hvd.spi.HostAddress;
import io.hvd.spi.Topology;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * Brings up the star: rank 0 listens on one address with a port chosen by the system, tells everybody
 * the address and a secret over MPI, and lets in who knows the secret.
 */
final class StarConnector {
    private static final int SECRET_BYTES = 16;
    private static final int HELLO_BYTES = SECRET_BYTES + 4;
    private static final int HELLO_LIMIT_MILLIS = 5_000;

    private StarConnector() {}

    /** The connection to every other rank on rank 0, to rank 0 everywhere else. */
    static Map<Integer, SocketChannel> connect(
            Topology topology, HvdConfig config, Function<byte[], List<byte[]>> exchange) throws IOException {
        if (topology.size() == 1) {
            return Map.of();
        }
        long deadline = System.nanoTime() + config.startTimeoutSeconds() * 1_000_000_000L;
        if (topology.rank() > 0) {
            Meeting meeting = Meeting.decode(exchange.apply(new byte[0]).get(0));
            return Map.of(0, dial(meeting, topology.rank(), deadline));
        }
        try (ServerSocketChannel listener = ServerSocketChannel.open()) {
            listener.bind(new InetSocketAddress(HostAddress.of(topology, config.controlInterface()), 0));
            byte[] secret = new byte[SECRET_BYTES];
            new SecureRandom().nextBytes(secret);
            Meeting meeting = new Meeting((InetSocketAddress) listener.getLocalAddress(), secret);
            exchange.apply(meeting.encode());
            return acceptAll(listener, secret, topology, deadline);
        }
    }

    private static Map<Integer, SocketChannel> acceptAll(
            ServerSocketChannel listener, byte[] secret, Topology topology, long deadline) throws IOException {
        Map<Integer, SocketChannel> connected = new HashMap<>();
        while (connected.size() < topology.size() - 1) {
            SocketChannel channel = accept(listener, topology, connected.keySet(), deadline);
            int rank = greet(channel, secret);
            if (rank > 0 && rank < topology.size() && !connected.containsKey(rank)) {
                connected.put(rank, channel);
            } else {
                channel.close();
            }
        }
        return connected;
    }

    private static SocketChannel accept(
            ServerSocketChannel listener, Topology topology, Set<Integer> connected, long deadline) throws IOException {
        long left = (deadline - System.nanoTime()) / 1_000_000;
        try {
            listener.socket().setSoTimeout((int) Math.max(1, left));
            return listener.socket().accept().getChannel();
        } catch (SocketTimeoutException e) {
            TreeSet<Integer> missing =
                    new TreeSet<>(IntStream.range(1, topology.size()).boxed().toList());
            missing.removeAll(connected);
            throw new IOException("ranks " + missing + " on "
                    + missing.stream().map(topology.hosts()::get).distinct().toList() + " did not connect to "
                    + listener.getLocalAddress() + " in time; check the network between the hosts, name the interface"
                    + " with HOROVOD_GLOO_IFACE, or allow more with HOROVOD_START_TIMEOUT");
        }
    }

    /** Reads who is there; -1 for a stranger. */
    private static int greet(SocketChannel channel, byte[] secret) {
        try {
            channel.socket().setSoTimeout(HELLO_LIMIT_MILLIS);
            byte[] hello = channel.socket().getInputStream().readNBytes(HELLO_BYTES);
            ByteBuffer bytes = ByteBuffer.wrap(hello);
            boolean known =
                    hello.length == HELLO_BYTES && MessageDigest.isEqual(Arrays.copyOf(hello, SECRET_BYTES), secret);
            return known ? bytes.getInt(SECRET_BYTES) : -1;
        } catch (IOException e) {
            // Silent for too long, or gone again: a port scan, or a rank that has died since and will be missed.
            return -1;
        }
    }

    private static SocketChannel dial(Meeting meeting, int rank, long deadline) throws IOException {
        SocketChannel channel = SocketChannel.open();
        int left = (int) Math.max(1, (deadline - System.nanoTime()) / 1_000_000);
        channel.socket().connect(meeting.address, left);
        ByteBuffer hello = ByteBuffer.allocate(HELLO_BYTES)
                .put(meeting.secret)
                .putInt(rank)
                .flip();
        while (hello.hasRemaining()) {
            channel.write(hello);
        }
        return channel;
    }

    /** Where rank 0 waits, and what to say there. */
    private record Meeting(InetSocketAddress address, byte[] secret) {
        byte[] encode() throws IOException {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(bytes);
            byte[] host = address.getAddress().getAddress();
            out.writeByte(host.length);
            out.write(host);
            out.writeInt(address.getPort());
            out.write(secret);
            return bytes.toByteArray();
        }

        static Meeting decode(byte[] bytes) throws IOException {
            DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
            byte[] host = in.readNBytes(in.readByte());
            int port = in.readInt();
            return new Meeting(
                    new InetSocketAddress(InetAddress.getByAddress(host), port), in.readNBytes(SECRET_BYTES));
        }
    }
}
