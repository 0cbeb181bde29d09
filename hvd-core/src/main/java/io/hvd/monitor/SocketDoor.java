package io.hvd.monitor;

import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One rank's two sockets, and the thread that waits on both: datagrams are handed on, a connection
 * brings one question and takes one answer, each framed by its length.
 */
final class SocketDoor implements AutoCloseable {
    /** Less than UDP carries at most. */
    static final int DATAGRAM_BYTES = 60_000;

    private static final Logger LOG = LoggerFactory.getLogger(SocketDoor.class);
    private static final int LONGEST_QUESTION = 1 << 20;
    private static final int LONGEST_ANSWER = 1 << 26;
    /** A question is small and sent at once; who is slower is no rank. */
    private static final int QUESTION_LIMIT_MILLIS = 500;

    private final Selector selector;
    private final ServerSocketChannel listener;
    private final DatagramChannel datagrams;

    /** Takes what came as a datagram. */
    interface Ear {
        void hear(byte[] message) throws IOException;
    }

    /** Answers a question; empty if it is not worth one. */
    interface Mouth {
        Optional<byte[]> answer(byte[] question) throws IOException;
    }

    private SocketDoor(Selector selector, ServerSocketChannel listener, DatagramChannel datagrams) {
        this.selector = selector;
        this.listener = listener;
        this.datagrams = datagrams;
    }

    /** Opens both sockets, or neither. */
    static SocketDoor open(InetAddress address) throws IOException {
        List<Closeable> opened = new ArrayList<>();
        try {
            Selector selector = noted(opened, Selector.open());
            ServerSocketChannel listener = noted(opened, ServerSocketChannel.open());
            DatagramChannel datagrams = noted(opened, DatagramChannel.open());
            listener.bind(new InetSocketAddress(address, 0));
            datagrams.bind(new InetSocketAddress(address, 0));
            listener.configureBlocking(false).register(selector, SelectionKey.OP_ACCEPT);
            datagrams.configureBlocking(false).register(selector, SelectionKey.OP_READ);
            return new SocketDoor(selector, listener, datagrams);
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

    InetSocketAddress beats() throws IOException {
        return (InetSocketAddress) datagrams.getLocalAddress();
    }

    void serve(String threadName, Ear ear, Mouth mouth) {
        Thread thread = new Thread(() -> run(ear, mouth), threadName);
        thread.setDaemon(true);
        thread.start();
    }

    private void run(Ear ear, Mouth mouth) {
        ByteBuffer buffer = ByteBuffer.allocate(1 << 16);
        while (selector.isOpen()) {
            try {
                selector.select();
                selector.selectedKeys().clear();
                listen(buffer, ear);
                answer(mouth);
            } catch (ClosedSelectorException e) {
                return;
            } catch (IOException | RuntimeException e) {
                if (selector.isOpen()) {
                    LOG.debug("a message to the monitor was dropped", e);
                }
            }
        }
    }

    private void listen(ByteBuffer buffer, Ear ear) throws IOException {
        while (datagrams.receive(buffer.clear()) != null) {
            byte[] message = new byte[buffer.flip().remaining()];
            buffer.get(message);
            ear.hear(message);
        }
    }

    private void answer(Mouth mouth) throws IOException {
        for (SocketChannel asker = listener.accept(); asker != null; asker = listener.accept()) {
            try (Socket socket = asker.socket()) {
                socket.setSoTimeout(QUESTION_LIMIT_MILLIS);
                byte[] question = read(new DataInputStream(socket.getInputStream()), LONGEST_QUESTION);
                Optional<byte[]> answer = mouth.answer(question);
                if (answer.isPresent()) {
                    write(socket, answer.get());
                }
            }
        }
    }

    /** A sign of life that does not get through is followed by another one. */
    void send(byte[] message, SocketAddress to) {
        try {
            datagrams.send(ByteBuffer.wrap(message), to);
        } catch (IOException e) {
            LOG.debug("no sign of life to {}", to, e);
        }
    }

    static byte[] ask(InetSocketAddress whom, byte[] question, int limitMillis) throws IOException {
        try (Socket socket = new Socket()) {
            socket.connect(whom, limitMillis);
            socket.setSoTimeout(limitMillis);
            write(socket, question);
            return read(new DataInputStream(socket.getInputStream()), LONGEST_ANSWER);
        }
    }

    private static void write(Socket socket, byte[] message) throws IOException {
        byte[] framed = ByteBuffer.allocate(4 + message.length)
                .putInt(message.length)
                .put(message)
                .array();
        new DataOutputStream(socket.getOutputStream()).write(framed);
    }

    private static byte[] read(DataInputStream in, int longest) throws IOException {
        int length = in.readInt();
        if (length < 0 || length > longest) {
            throw new IOException("a message of " + length + " bytes");
        }
        byte[] message = new byte[length];
        in.readFully(message);
        return message;
    }

    @Override
    public void close() {
        try {
            selector.close();
            listener.close();
            datagrams.close();
        } catch (IOException e) {
            LOG.debug("closing the monitor's sockets failed", e);
        }
    }
}
