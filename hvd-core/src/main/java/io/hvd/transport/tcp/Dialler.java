package io.hvd.transport.tcp;

import io.hvd.net.Encryption;
import io.hvd.net.FramedConnection;
import io.hvd.net.HandshakeListener;
import io.hvd.net.HandshakeListener.Accepted;
import io.hvd.net.Wire;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Makes the data connections: it dials the ranks with lower numbers, and a daemon thread accepts those that dial this one.
 * The number in the hello is the dialling rank's, times the number of lanes, plus the lane.
 */
final class Dialler {
    private final int rank;
    private final int lanes;
    private final DataAddresses addresses;
    private final int limitMillis;
    private final HandshakeListener listener;
    private final Queue<Accepted> accepted = new ConcurrentLinkedQueue<>();
    /** The connection that is being made, which may have to be given up. */
    private volatile SocketChannel dialling;

    private volatile boolean closed;
    /** Why no more connections are accepted; null while they are, or have been until the end. */
    private volatile Throwable broken;

    /** @param listener this rank's own, which is closed with this dialler */
    Dialler(int rank, int lanes, DataAddresses addresses, int limitMillis, HandshakeListener listener) {
        this.rank = rank;
        this.lanes = lanes;
        this.addresses = addresses;
        this.limitMillis = limitMillis;
        this.listener = listener;
        Thread thread = new Thread(this::accept, "hvd-tcp-accept-" + rank);
        thread.setDaemon(true);
        thread.start();
    }

    /** Receives a connection that another rank has made. */
    interface Receiver {
        void add(int rank, int lane, Wire wire) throws IOException;
    }

    /** Runs until the listener is closed. */
    private void accept() {
        try {
            Optional<Accepted> one = next();
            while (one.isPresent()) {
                accepted.add(one.get());
                one = next();
            }
        } catch (IOException | RuntimeException | OutOfMemoryError e) {
            broken = e;
        }
        if (closed) {
            closeAccepted(); // close() may not have found the last one
        }
    }

    private Optional<Accepted> next() throws IOException {
        return listener.next(addresses.secret(), Long.MAX_VALUE);
    }

    /**
     * Hands over the connections that have been made since the last call.
     *
     * @throws IOException if none can be made any more
     */
    void accepted(Receiver receiver) throws IOException {
        if (broken != null) {
            throw new IOException("rank " + rank + " can accept no more data connections: " + broken, broken);
        }
        for (Accepted one = accepted.poll(); one != null; one = accepted.poll()) {
            int number = one.number();
            if (number < 0 || number / lanes >= addresses.ofRanks().size()) {
                one.connection().close();
            } else {
                receiver.add(number / lanes, number % lanes, one.connection().wire());
            }
        }
    }

    /** Connects to a rank whose listener is known to be open. */
    Wire dial(int other, int lane) throws IOException {
        SocketChannel channel = SocketChannel.open();
        dialling = channel;
        try {
            if (closed) {
                throw new IOException("the job has been given up");
            }
            channel.socket().connect(address(other), limitMillis);
            int number = rank * lanes + lane;
            return FramedConnection.greet(channel, addresses.encryption(), addresses.secret(), number, limitMillis)
                    .wire();
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        } finally {
            dialling = null;
        }
    }

    InetSocketAddress address(int other) {
        return addresses.ofRanks().get(other);
    }

    /** Any thread may call this. */
    void close() {
        closed = true;
        close(dialling);
        close(listener);
        closeAccepted();
    }

    private void closeAccepted() {
        for (Accepted one = accepted.poll(); one != null; one = accepted.poll()) {
            close(one.connection());
        }
    }

    /** @param one null if there is none */
    private static void close(AutoCloseable one) {
        try {
            if (one != null) {
                one.close();
            }
        } catch (Exception e) {
            // It is being given up anyway.
        }
    }

    /** @param ofRanks the addresses at which the ranks accept data connections, by rank */
    record DataAddresses(List<InetSocketAddress> ofRanks, byte[] secret, Encryption encryption) {}
}
