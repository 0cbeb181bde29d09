package io.hvd.net;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Accepts connections and hands over those that have sent the job's secret as their first bytes. A connection that sends
 * something else or takes too long is closed, and so is the oldest one when too many have not sent it yet. A foreign
 * connection therefore costs a few bytes, and no thread waits for it.
 *
 * <p>One thread asks for connections; any thread may close.
 */
public final class HandshakeListener implements AutoCloseable {
    /** The length of every secret. */
    public static final int SECRET_BYTES = 16;

    /** How long a caller has to say the secret. A rank of the job says it in its first packet. */
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(5);

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final int MOST_WAITING = 256;
    /** Between two looks at those who wait, so that none of them is the first of too many before it was listened to. */
    private static final int MOST_AT_ONCE = 64;

    private static final int BACKLOG = 1_000;

    private final Selector selector;
    private final int more;
    /** In the order of their coming. */
    private final Set<Caller> waiting = new LinkedHashSet<>();

    private final ArrayDeque<Guest> guests = new ArrayDeque<>();
    private volatile boolean closed;

    /**
     * A caller that has said the secret.
     *
     * @param channel blocking; its owner is now who got the guest
     * @param said what came after the secret
     */
    public record Guest(SocketChannel channel, ByteBuffer said) {}

    private static final class Caller {
        private final SelectionKey key;
        private final ByteBuffer said;
        private final long since = System.nanoTime();

        Caller(SelectionKey key, int bytes) {
            this.key = key;
            this.said = ByteBuffer.allocate(bytes);
        }

        SocketChannel channel() {
            return (SocketChannel) key.channel();
        }
    }

    /**
     * @param doors that listen; closed with the listener
     * @param more bytes that everybody says after the secret
     */
    public HandshakeListener(List<ServerSocketChannel> doors, int more) throws IOException {
        this.more = more;
        this.selector = Selector.open();
        for (ServerSocketChannel door : doors) {
            door.configureBlocking(false).register(selector, SelectionKey.OP_ACCEPT);
        }
    }

    /** A secret that nobody can guess. */
    public static byte[] newSecret() {
        byte[] secret = new byte[SECRET_BYTES];
        new SecureRandom().nextBytes(secret);
        return secret;
    }

    /** Listens at one address, at a port that the system chooses. */
    public static ServerSocketChannel door(InetAddress address) throws IOException {
        ServerSocketChannel door = ServerSocketChannel.open();
        try {
            return door.bind(new InetSocketAddress(address, 0), BACKLOG);
        } catch (IOException e) {
            door.close();
            throw e;
        }
    }

    /**
     * Waits for the next one who knows the secret.
     *
     * @param secret {@link #SECRET_BYTES}
     * @return empty if nobody came in time, or the listener is closed
     */
    public Optional<Guest> next(byte[] secret, long nanos) throws IOException {
        long begin = System.nanoTime();
        try {
            for (long left = nanos;
                    !closed && guests.isEmpty() && left > 0;
                    left = nanos - (System.nanoTime() - begin)) {
                selector.select(key -> serve(key, secret), millis(left));
                showOutTheSlow();
            }
        } catch (ClosedSelectorException e) {
            return Optional.empty();
        }
        return Optional.ofNullable(guests.poll());
    }

    /** Up to the moment at which somebody has to be shown out; at least 1, since 0 is for ever. */
    private long millis(long left) {
        long patience =
                waiting.isEmpty() ? Long.MAX_VALUE : patience(waiting.iterator().next());
        return Math.max(1, TimeUnit.NANOSECONDS.toMillis(Math.min(left, patience)));
    }

    private static long patience(Caller caller) {
        return PATIENCE_NANOS - (System.nanoTime() - caller.since);
    }

    private void serve(SelectionKey key, byte[] secret) {
        if (key.isValid() && key.isAcceptable()) {
            letWait((ServerSocketChannel) key.channel());
        } else if (key.isValid() && key.isReadable()) {
            listen((Caller) key.attachment(), secret);
        }
    }

    private void letWait(ServerSocketChannel door) {
        for (int i = 0; i < MOST_AT_ONCE; i++) {
            try {
                SocketChannel channel = door.accept();
                if (channel == null) {
                    return;
                }
                letWait(channel);
            } catch (IOException e) {
                makeRoom();
                return;
            }
        }
    }

    /** Without a file descriptor nobody can be let in; the door would be found open again at once. */
    private void makeRoom() {
        if (waiting.isEmpty()) {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
        showOutTheFirst();
    }

    private void letWait(SocketChannel channel) throws IOException {
        if (waiting.size() == MOST_WAITING) {
            showOutTheFirst();
        }
        SelectionKey key = channel.configureBlocking(false).register(selector, SelectionKey.OP_READ);
        Caller caller = new Caller(key, SECRET_BYTES + more);
        key.attach(caller);
        waiting.add(caller);
    }

    private void listen(Caller caller, byte[] secret) {
        try {
            int read = caller.channel().read(caller.said);
            if (read < 0) {
                showOut(caller);
            } else if (!caller.said.hasRemaining()) {
                decide(caller, secret);
            }
        } catch (IOException e) {
            showOut(caller); // gone again
        }
    }

    private void decide(Caller caller, byte[] secret) throws IOException {
        ByteBuffer said = caller.said.flip();
        if (!MessageDigest.isEqual(secret, Arrays.copyOf(said.array(), SECRET_BYTES))) {
            showOut(caller);
            return;
        }
        waiting.remove(caller);
        caller.key.cancel();
        caller.channel().configureBlocking(true);
        guests.add(new Guest(caller.channel(), said.position(SECRET_BYTES).slice()));
    }

    private void showOutTheSlow() {
        while (!waiting.isEmpty() && patience(waiting.iterator().next()) <= 0) {
            showOutTheFirst();
        }
    }

    private void showOutTheFirst() {
        waiting.stream().findFirst().ifPresent(this::showOut);
    }

    private void showOut(Caller caller) {
        waiting.remove(caller);
        close(caller.key);
    }

    private static void close(SelectionKey key) {
        try {
            key.channel().close();
        } catch (IOException e) {
            return; // it is being given up anyway
        }
    }

    /** Nobody is let in any more; those who wait are shown out, guests stay. */
    @Override
    public void close() throws IOException {
        closed = true;
        selector.wakeup();
        // The thread that selects holds this lock. While it is held here, no connection is just being accepted and
        // missing among the keys.
        synchronized (selector) {
            if (selector.isOpen()) {
                List<SelectionKey> keys = List.copyOf(selector.keys());
                keys.stream().filter(SelectionKey::isValid).forEach(HandshakeListener::close);
                selector.close();
            }
        }
    }
}
