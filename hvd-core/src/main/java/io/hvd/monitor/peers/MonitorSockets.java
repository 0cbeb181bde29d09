package io.hvd.monitor.peers;

import io.hvd.log.HvdLogger;
import io.hvd.net.Encryption;
import io.hvd.net.FramedConnection;
import io.hvd.net.HandshakeListener;
import io.hvd.net.PortRange;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The two sockets of a rank, each with a thread of its own. One receives datagrams. On the other one, each connection
 * whose caller knows the job's password asks one question, and gets one answer. Connections, even those that stay open, do
 * not keep the rank from receiving signs of life.
 */
final class MonitorSockets implements AutoCloseable {
    /** The most bytes of a datagram, fewer than UDP carries. */
    static final int DATAGRAM_BYTES = 60_000;

    private static final HvdLogger LOG = HvdLogger.of(MonitorSockets.class);
    /** The number in the hello; it does not matter, because all ranks get the same answers. */
    private static final int ANY_RANK = 0;

    private static final int LONGEST_QUESTION = 1 << 20;
    private static final int LONGEST_ANSWER = 1 << 26;
    /**
     * The limit for a question. A rank sends its question at once and in one piece, so a slower connection is not from
     * a rank.
     */
    private static final int QUESTION_LIMIT_MILLIS = 500;

    private final HandshakeListener handshakes;
    private final ServerSocketChannel listener;
    private final DatagramChannel datagrams;

    /** Receives the content of a datagram. */
    interface MessageListener {
        void hear(byte[] message);
    }

    /** Answers a question; an empty result closes the connection without an answer. */
    interface Responder {
        Optional<byte[]> answer(byte[] question);
    }

    private MonitorSockets(HandshakeListener handshakes, ServerSocketChannel listener, DatagramChannel datagrams) {
        this.handshakes = handshakes;
        this.listener = listener;
        this.datagrams = datagrams;
    }

    /** Opens both sockets, or neither. */
    static MonitorSockets open(InetAddress address, PortRange ports, Encryption encryption) throws IOException {
        List<Closeable> opened = new ArrayList<>();
        try {
            ServerSocketChannel listener = noted(opened, HandshakeListener.bind(address, ports));
            HandshakeListener handshakes = new HandshakeListener(List.of(listener), encryption);
            opened.add(handshakes::close);
            DatagramChannel datagrams = noted(opened, DatagramChannel.open());
            ports.open(address, datagrams::bind);
            return new MonitorSockets(handshakes, listener, datagrams);
        } catch (IOException | RuntimeException e) {
            for (Closeable one : opened) {
                one.close();
            }
            throw e;
        }
    }

    private static <C extends Closeable> C noted(List<Closeable> opened, C one) {
        opened.add(one);
        return one;
    }

    InetSocketAddress questions() throws IOException {
        return (InetSocketAddress) listener.getLocalAddress();
    }

    InetSocketAddress heartbeats() throws IOException {
        return (InetSocketAddress) datagrams.getLocalAddress();
    }

    /** @param password known to all ranks of the job */
    void serve(String threadName, byte[] password, MessageListener heard, Responder responder) {
        start(threadName + "-hears", () -> listen(ByteBuffer.allocate(1 << 16), heard));
        start(threadName + "-answers", () -> answer(password, responder));
    }

    private static void start(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
    }

    private void listen(ByteBuffer buffer, MessageListener heard) {
        while (datagrams.isOpen()) {
            try {
                datagrams.receive(buffer.clear());
                byte[] message = new byte[buffer.flip().remaining()];
                buffer.get(message);
                heard.hear(message);
            } catch (IOException | RuntimeException e) {
                dropped(e);
            }
        }
    }

    private void answer(byte[] password, Responder responder) {
        while (listener.isOpen()) {
            try {
                handshakes.next(password, Long.MAX_VALUE).ifPresent(asker -> answer(responder, asker.connection()));
            } catch (IOException | RuntimeException e) {
                dropped(e);
            }
        }
    }

    private void answer(Responder responder, FramedConnection asker) {
        try (asker) {
            asker.limitReads(QUESTION_LIMIT_MILLIS);
            Optional<byte[]> answer = responder.answer(asker.receiveBytes(LONGEST_QUESTION));
            if (answer.isPresent()) {
                asker.send(answer.get());
            }
        } catch (IOException e) {
            dropped(e);
        }
    }

    private void dropped(Exception why) {
        if (listener.isOpen()) {
            LOG.debug("a message to the monitor was dropped", why);
        }
    }

    /** Sends a datagram; errors are ignored, because another sign of life follows. */
    void send(byte[] message, SocketAddress to) {
        try {
            datagrams.send(ByteBuffer.wrap(message), to);
        } catch (IOException e) {
            LOG.debug("no sign of life to {}", to, e);
        }
    }

    static byte[] ask(Encryption encryption, InetSocketAddress whom, byte[] password, byte[] question, int limitMillis)
            throws IOException {
        try (FramedConnection connection = FramedConnection.dial(encryption, whom, password, ANY_RANK, limitMillis)) {
            connection.send(question);
            return connection.receiveBytes(LONGEST_ANSWER);
        }
    }

    @Override
    public void close() {
        try {
            handshakes.close();
            listener.close();
            datagrams.close();
        } catch (IOException e) {
            LOG.debug("closing the monitor's sockets failed", e);
        }
    }
}
