package io.hvd.net;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import javax.net.ssl.SSLException;

/**
 * A TCP connection that carries whole messages, each with its length in front. It begins with {@link Proofs}, by which it and a
 * {@link HandshakeListener} recognise each other as processes of one job.
 *
 * <p>A connection blocks in {@link #send} and {@link #receive} until it is registered with a selector; from then on
 * {@link #enqueue}, {@link #flush} and {@link #poll} do what can be done at once. One thread uses it; any thread may
 * close it.
 */
public final class FramedConnection implements Closeable {
    /** The most bytes of one write: the JDK keeps native memory for the longest write of a thread. */
    private static final int MOST_AT_ONCE = 1 << 17;

    private static final String FOREIGN = "what answers there is no process of this job, or has another HVD_TLS or"
            + " HVD_SECRET; another job or program may have that port";

    private final Wire wire;
    private final FrameBuffer incoming = new FrameBuffer();
    private final ArrayDeque<ByteBuffer> outgoing = new ArrayDeque<>();

    FramedConnection(Wire wire) throws IOException {
        this.wire = wire;
        wire.socket().setOption(StandardSocketOptions.TCP_NODELAY, true);
    }

    /**
     * Connects without encryption, and returns when both ends have recognised each other.
     *
     * @param number tells the listener who connects, or what it wants
     * @param limitMillis limit in milliseconds for the connection, for the listener's proof, and then for each read
     */
    public static FramedConnection dial(InetSocketAddress address, byte[] secret, int number, int limitMillis)
            throws IOException {
        return dial(Encryption.NONE, address, secret, number, limitMillis);
    }

    /** The same with or without encryption. */
    public static FramedConnection dial(
            Encryption encryption, InetSocketAddress address, byte[] secret, int number, int limitMillis)
            throws IOException {
        SocketChannel channel = SocketChannel.open();
        try {
            channel.socket().connect(address, limitMillis);
            return greet(channel, encryption, secret, number, limitMillis);
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    /**
     * Recognises the listener on a new connection, and is recognised. If it throws, the socket still belongs to the caller.
     *
     * @throws IOException that says so if another program listens there; it has learnt nothing of the secret
     */
    public static FramedConnection greet(
            SocketChannel connected, Encryption encryption, byte[] secret, int number, int limitMillis)
            throws IOException {
        FramedConnection connection = new FramedConnection(encryption.called(connected));
        try {
            connection.limitReads(limitMillis);
            connection.wire.shake();
            connection.prove(secret, Hello.of(number), limitMillis);
        } catch (SSLException e) {
            throw e;
        } catch (SocketTimeoutException e) {
            throw new IOException(
                    "it has taken the connection and does not answer; another job or program may have that port", e);
        } catch (IOException e) {
            throw new IOException(FOREIGN, e);
        }
        connection.limitReads(limitMillis);
        return connection;
    }

    private void prove(byte[] secret, Hello hello, int limitMillis) throws IOException {
        long begun = System.nanoTime();
        outgoing.add(hello.encode());
        flush();
        ByteBuffer answer = ByteBuffer.allocate(Proofs.ANSWER_BYTES);
        while (answer.hasRemaining()) {
            long millis = limitMillis - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
            limitReads(Math.toIntExact(Math.max(1, millis)));
            if (wire.read(answer) < 0) {
                throw new EOFException("the connection ended");
            }
        }
        byte[] word = new byte[Proofs.WORD_BYTES];
        byte[] proof = new byte[Proofs.BYTES];
        answer.flip().get(word).get(proof);
        Proofs proofs = new Proofs(secret, hello, word);
        if (!proofs.isOfListener(proof)) {
            throw new IOException("it does not know the secret");
        }
        outgoing.add(proofs.reply());
        flush();
    }

    /** Limits how long {@link #receive} waits for the next bytes, in milliseconds; 0 means no limit. */
    public void limitReads(int millis) throws IOException {
        wire.socket().socket().setSoTimeout(millis);
    }

    /** Sends a message, from its position to its limit, and returns when the socket has taken all of it. */
    public void send(ByteBuffer message) throws IOException {
        enqueue(message);
        flush();
    }

    public void send(byte[] message) throws IOException {
        send(ByteBuffer.wrap(message));
    }

    /**
     * Waits for the next message. It lies in the connection's own memory and is valid until the next call.
     *
     * @param longest the greatest length that is accepted, in bytes
     * @throws EOFException if the connection ends before
     * @throws IOException if the announced length is not accepted, or the next bytes take too long
     */
    public ByteBuffer receive(int longest) throws IOException {
        Optional<ByteBuffer> message = incoming.next(longest);
        while (message.isEmpty()) {
            if (incoming.fill(wire::read) < 0) {
                throw new EOFException(
                        incoming.holdsAPart() ? "the connection ended within a message" : "the connection ended");
            }
            message = incoming.next(longest);
        }
        return message.get();
    }

    public byte[] receiveBytes(int longest) throws IOException {
        ByteBuffer message = receive(longest);
        byte[] bytes = new byte[message.remaining()];
        message.get(bytes);
        return bytes;
    }

    /** Whether the other end, which has nothing to say yet, has gone; if it says something it is no end to talk to. */
    public boolean hasEnded() {
        try {
            wire.socket().configureBlocking(false);
            boolean ended = incoming.fill(wire::read) != 0;
            wire.socket().configureBlocking(true);
            return ended;
        } catch (IOException e) {
            return true;
        }
    }

    /** Registers this connection with a selector; it no longer blocks. */
    public SelectionKey register(Selector selector, Object attachment) throws IOException {
        wire.socket().configureBlocking(false);
        return wire.socket().register(selector, SelectionKey.OP_READ, attachment);
    }

    /** Whether bytes have come that a selector does not tell of; {@link #poll} takes them. */
    public boolean holdsBytes() {
        return wire.holdsBytes();
    }

    /** Queues a message for {@link #flush}. */
    public void enqueue(ByteBuffer message) {
        ByteBuffer framed = ByteBuffer.allocate(Math.addExact(FrameBuffer.HEADER_BYTES, message.remaining()));
        framed.putInt(message.remaining()).put(message).flip();
        outgoing.add(framed);
    }

    /**
     * Writes as much as the socket takes.
     *
     * @return whether nothing is left to write
     */
    public boolean flush() throws IOException {
        while (!outgoing.isEmpty()) {
            ByteBuffer first = outgoing.peek();
            if (first.hasRemaining() && write(first) == 0) {
                return false;
            }
            if (!first.hasRemaining()) {
                if (!wire.flush()) {
                    return false;
                }
                outgoing.remove();
            }
        }
        return true;
    }

    private int write(ByteBuffer framed) throws IOException {
        int end = framed.limit();
        framed.limit(Math.min(end, framed.position() + MOST_AT_ONCE));
        try {
            return wire.write(framed);
        } finally {
            framed.limit(end);
        }
    }

    public boolean isFlushed() {
        return outgoing.isEmpty();
    }

    /** Forgets what has not been written yet. */
    public void discard() {
        outgoing.clear();
    }

    /**
     * Hands over the messages that have arrived, each in memory of its own.
     *
     * @param longest the greatest length that is accepted, in bytes
     * @return false if the connection has ended
     */
    public boolean poll(int longest, Consumer<ByteBuffer> inbox) throws IOException {
        int read = incoming.fill(wire::read);
        while (read > 0) {
            deliver(longest, inbox);
            read = incoming.fill(wire::read);
        }
        return read == 0;
    }

    private void deliver(int longest, Consumer<ByteBuffer> inbox) throws IOException {
        Optional<ByteBuffer> message = incoming.next(longest);
        while (message.isPresent()) {
            inbox.accept(ByteBuffer.allocate(message.get().remaining())
                    .put(message.get())
                    .flip());
            message = incoming.next(longest);
        }
    }

    /** The bytes themselves, for bulk data between two messages. */
    public Wire wire() {
        return wire;
    }

    @Override
    public void close() throws IOException {
        wire.socket().close();
    }

    /** Closes a connection that is being given up: what goes wrong then is of no consequence. */
    public void hangUp() {
        try {
            close();
        } catch (IOException e) {
            // It is being given up anyway.
        }
    }
}
