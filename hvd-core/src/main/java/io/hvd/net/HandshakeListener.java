package io.hvd.net;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import javax.net.ssl.SSLException;

/**
 * Accepts connections and returns those whose caller has proved that it knows the job's secret ({@link Proofs}). A connection
 * that sends something else or takes too long is closed; so is the oldest one when too many have not got so far yet. A foreign
 * connection therefore costs a few bytes, and no thread waits for it.
 *
 * <p>One thread asks for connections; any thread may close the listener.
 */
public final class HandshakeListener implements AutoCloseable {
    /** The length of every secret, in bytes. */
    public static final int SECRET_BYTES = Proofs.WORD_BYTES;

    /** How long a connection may take. A rank of the job sends its hello in its first packet, and its proof at once. */
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** The same with encryption, whose classes a rank loads after it has connected. */
    private static final long PATIENCE_FOR_TLS_NANOS = TimeUnit.SECONDS.toNanos(20);

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final int MOST_PENDING = 256;
    /** Of those that have got an answer; many ranks may come at once, and each is on the way for as long as a packet takes. */
    private static final int MOST_ANSWERED = 1_024;

    /**
     * The most connections that are accepted before the hellos of pending ones are read, so that none of them is
     * dropped as the oldest before its hello was read.
     */
    private static final int MOST_AT_ONCE = 64;

    private static final int BACKLOG = 1_000;

    /** The first bytes of a connection by TLS (RFC 8446, 5.1). */
    private static final int TLS_HANDSHAKE = 22;

    private static final int TLS_MAJOR = 3;

    private final Selector selector;
    /** The connections without a hello, in the order in which they were made. */
    private final Set<Pending> pending = new LinkedHashSet<>();
    /** Those whose hello was answered, in its order. */
    private final Set<Pending> answered = new LinkedHashSet<>();

    private final Queue<Accepted> accepted = new ConcurrentLinkedQueue<>();
    private final Encryption encryption;
    /** Who was refused though it may be of this job; empty while nobody was. */
    private String refused = "";

    private volatile boolean closed;

    /**
     * A connection whose caller knows the secret.
     *
     * @param connection blocks; its receiver closes it
     * @param number the number from the hello
     */
    public record Accepted(FramedConnection connection, int number) {}

    /** A connection whose caller has not proved yet that it knows the secret. */
    private static final class Pending {
        private final SelectionKey key;
        private final long since = System.nanoTime();
        /** What comes next: its hello, then its proof. */
        private ByteBuffer incoming = ByteBuffer.allocate(Hello.BYTES);
        /** What is still to be sent of the answer. */
        private ByteBuffer outgoing = ByteBuffer.allocate(0);
        /** Null until its first bytes have come. */
        private Wire wire;
        /** Null until its hello was answered. */
        private Proofs proofs;

        private int number;

        Pending(SelectionKey key) {
            this.key = key;
        }

        SocketChannel channel() {
            return (SocketChannel) key.channel();
        }
    }

    /** Listens without encryption. @param sockets the listening sockets, which are closed with this listener */
    public HandshakeListener(List<ServerSocketChannel> sockets) throws IOException {
        this(sockets, Encryption.NONE);
    }

    /** @param sockets the listening sockets, which are closed with this listener */
    public HandshakeListener(List<ServerSocketChannel> sockets, Encryption encryption) throws IOException {
        this.encryption = encryption;
        this.selector = Selector.open();
        for (ServerSocketChannel socket : sockets) {
            socket.configureBlocking(false).register(selector, SelectionKey.OP_ACCEPT);
        }
    }

    /** Makes a secret from a secure source of random numbers. */
    public static byte[] newSecret() {
        return Proofs.newWord();
    }

    /** Listens at one address, at the first free port of a range. */
    public static ServerSocketChannel bind(InetAddress address, PortRange ports) throws IOException {
        return ports.open(address, HandshakeListener::bind);
    }

    /** Listens at an address and a port. */
    public static ServerSocketChannel bind(InetSocketAddress address) throws IOException {
        ServerSocketChannel socket = ServerSocketChannel.open();
        try {
            return socket.bind(address, BACKLOG);
        } catch (IOException e) {
            socket.close();
            throw e;
        }
    }

    /**
     * Waits for the next connection whose caller knows the secret.
     *
     * @param secret the job's secret, which has {@link #SECRET_BYTES} bytes
     * @param nanos the longest wait in nanoseconds
     * @return empty if none came in time, or the listener is closed
     */
    public Optional<Accepted> next(byte[] secret, long nanos) throws IOException {
        long begin = System.nanoTime();
        try {
            for (long left = nanos;
                    !closed && accepted.isEmpty() && left > 0;
                    left = nanos - (System.nanoTime() - begin)) {
                selector.select(key -> serve(key, secret), millis(left));
                dropTheSlow();
            }
        } catch (ClosedSelectorException e) {
            return Optional.empty();
        }
        synchronized (selector) {
            return Optional.ofNullable(accepted.poll());
        }
    }

    /** Milliseconds until a connection has to be dropped or the wait ends; at least 1, because 0 means for ever. */
    private long millis(long left) {
        long patience = oldest().map(this::patience).orElse(Long.MAX_VALUE);
        return Math.max(1, TimeUnit.NANOSECONDS.toMillis(Math.min(left, patience)));
    }

    private Optional<Pending> oldest() {
        return Stream.of(pending, answered)
                .flatMap(some -> some.stream().limit(1))
                .min(Comparator.comparingLong(one -> one.since));
    }

    private long patience(Pending one) {
        return (encryption == Encryption.NONE ? PATIENCE_NANOS : PATIENCE_FOR_TLS_NANOS)
                - (System.nanoTime() - one.since);
    }

    private void serve(SelectionKey key, byte[] secret) {
        if (key.isValid() && key.isAcceptable()) {
            accept((ServerSocketChannel) key.channel());
        } else if (key.isValid() && (key.isReadable() || key.isWritable())) {
            read((Pending) key.attachment(), secret);
        }
    }

    private void accept(ServerSocketChannel socket) {
        for (int i = 0; i < MOST_AT_ONCE; i++) {
            try {
                SocketChannel channel = socket.accept();
                if (channel == null) {
                    return;
                }
                accept(channel);
            } catch (IOException e) {
                makeRoom();
                return;
            }
        }
    }

    /**
     * Drops a pending connection, to free a file descriptor, or pauses if there is none: without a file descriptor
     * nothing can be accepted, and the selector would report the same connection again at once.
     */
    private void makeRoom() {
        oldest().ifPresentOrElse(this::drop, () -> LockSupport.parkNanos(PAUSE_NANOS));
    }

    private void accept(SocketChannel channel) throws IOException {
        dropTheFirst(pending, MOST_PENDING);
        SelectionKey key = channel.configureBlocking(false).register(selector, SelectionKey.OP_READ);
        Pending one = new Pending(key);
        key.attach(one);
        pending.add(one);
    }

    private void read(Pending one, byte[] secret) {
        try {
            if (one.wire == null) {
                readFirst(one);
            }
            if (one.wire != null) {
                talk(one, secret);
            }
        } catch (SSLException e) {
            refused = refused.isEmpty() ? "a process was refused: " + e.getMessage() : refused;
            drop(one);
        } catch (IOException e) {
            drop(one); // the connection has ended already
        }
    }

    /** The first bytes are as many as a hello has, and fewer than a connection by TLS begins with. */
    private void readFirst(Pending one) throws IOException {
        int count = one.channel().read(one.incoming);
        if (count < 0) {
            drop(one);
        } else if (!one.incoming.hasRemaining()) {
            boolean plain = Hello.decode(one.incoming.flip()).isPresent();
            one.incoming.rewind();
            if (plain && encryption == Encryption.NONE) {
                one.wire = new PlainWire(one.channel());
                one.incoming.position(one.incoming.limit());
            } else if (!plain && encryption != Encryption.NONE) {
                one.wire = encryption.answered(one.channel(), one.incoming);
                one.incoming.clear();
            } else {
                refuse(one);
            }
        }
    }

    private void refuse(Pending one) {
        if (encryption != Encryption.NONE) {
            refused = "a process, perhaps of this job, came without the encryption that HVD_TLS=1 asks for here";
        } else if (one.incoming.get(0) == TLS_HANDSHAKE && one.incoming.get(1) == TLS_MAJOR) {
            refused = "a process came with encryption, perhaps of this job, and here HVD_TLS is 0";
        }
        drop(one);
    }

    private void talk(Pending one, byte[] secret) throws IOException {
        boolean shaken = one.wire.shake();
        if (shaken && one.incoming.hasRemaining() && one.wire.read(one.incoming) < 0) {
            drop(one);
            return;
        }
        if (shaken && !one.incoming.hasRemaining()) {
            heard(one, secret);
        }
        if (one.key.isValid()) {
            if (one.outgoing.hasRemaining()) {
                one.wire.write(one.outgoing);
            }
            boolean flushed = one.wire.flush() && !one.outgoing.hasRemaining();
            one.key.interestOps(flushed ? SelectionKey.OP_READ : SelectionKey.OP_READ | SelectionKey.OP_WRITE);
        }
    }

    private void heard(Pending one, byte[] secret) throws IOException {
        ByteBuffer message = one.incoming.flip();
        if (one.proofs == null) {
            Hello.decode(message).ifPresentOrElse(hello -> answer(one, hello, secret), () -> drop(one));
        } else if (one.proofs.isOfCaller(message.array())) {
            answered.remove(one);
            one.key.cancel();
            one.channel().configureBlocking(true);
            accepted.add(new Accepted(new FramedConnection(one.wire), one.number));
        } else {
            drop(one);
        }
    }

    private void answer(Pending one, Hello hello, byte[] secret) {
        pending.remove(one);
        dropTheFirst(answered, MOST_ANSWERED);
        answered.add(one);
        one.number = hello.number();
        one.proofs = new Proofs(secret, hello, Proofs.newWord());
        one.outgoing = one.proofs.answer();
        one.incoming = ByteBuffer.allocate(Proofs.BYTES);
    }

    /** A clause for an error about processes that have not come; empty unless one came that was refused for HVD_TLS. */
    public String refused() {
        return refused.isEmpty() ? "" : "; " + refused;
    }

    private void dropTheSlow() {
        for (Optional<Pending> one = oldest(); one.isPresent() && patience(one.get()) <= 0; one = oldest()) {
            drop(one.get());
        }
    }

    private void dropTheFirst(Set<Pending> some, int most) {
        if (some.size() == most) {
            drop(some.iterator().next());
        }
    }

    private void drop(Pending one) {
        pending.remove(one);
        answered.remove(one);
        close(one.channel());
    }

    private static void close(Closeable one) {
        try {
            one.close();
        } catch (IOException e) {
            return; // it is being given up anyway
        }
    }

    /** Accepts no more connections, and closes those that {@link #next} has not returned. */
    @Override
    public void close() throws IOException {
        closed = true;
        selector.wakeup();
        // The thread that selects holds this lock. While it is held here, no connection that is just being accepted can
        // be missing among the keys.
        synchronized (selector) {
            if (selector.isOpen()) {
                List<SelectionKey> keys = List.copyOf(selector.keys());
                keys.stream().filter(SelectionKey::isValid).forEach(key -> close(key.channel()));
                selector.close();
            }
            for (Accepted one = accepted.poll(); one != null; one = accepted.poll()) {
                close(one.connection());
            }
        }
    }
}
