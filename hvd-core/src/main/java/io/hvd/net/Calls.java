package io.hvd.net;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Connects to several addresses at the same time, and returns the connections as they are made. One thread uses it. */
public final class Calls implements Closeable {
    /** A process of the job answers at once, so what is silent for so long is another program, or cannot be reached. */
    private static final long ANSWER_NANOS = TimeUnit.SECONDS.toNanos(10);
    /** The same if it may be at another address. */
    private static final long ANSWER_OF_ONE_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final Selector selector;
    private final List<SocketChannel> channels = new ArrayList<>();
    private final Deque<SocketChannel> answered = new ArrayDeque<>();
    private Optional<IOException> refusal = Optional.empty();

    private Calls(Selector selector) {
        this.selector = selector;
    }

    public static Calls to(List<InetSocketAddress> addresses) throws IOException {
        var calls = new Calls(Selector.open());
        try {
            for (InetSocketAddress address : addresses) {
                calls.call(address);
            }
            return calls;
        } catch (IOException e) {
            calls.close();
            throw e;
        }
    }

    /**
     * Connects to one process that may be at any of several addresses; the first one that recognises this process counts.
     *
     * @param addresses whose names are looked up again where they had no address
     * @param number tells the listener who connects, or what it wants
     * @param nanos the longest wait in nanoseconds; it may be shorter
     * @throws UnknownHostException if no name has an address yet
     * @throws SocketTimeoutException if nothing answers in time
     * @throws IOException that says what answers there instead
     */
    public static FramedConnection greet(
            List<InetSocketAddress> addresses, Encryption encryption, byte[] secret, int number, long nanos)
            throws IOException {
        List<InetSocketAddress> known = addresses.stream()
                .map(one -> one.isUnresolved() ? new InetSocketAddress(one.getHostString(), one.getPort()) : one)
                .filter(one -> !one.isUnresolved())
                .toList();
        if (known.isEmpty()) {
            throw new UnknownHostException(addresses.toString());
        }
        int millis = millis(Math.min(known.size() == 1 ? ANSWER_NANOS : ANSWER_OF_ONE_NANOS, nanos));
        long deadline = System.nanoTime() + Math.min(ANSWER_NANOS, nanos);
        try (Calls calls = to(known)) {
            Optional<IOException> foreign = Optional.empty();
            for (var call = calls.next(deadline); call.isPresent(); call = calls.next(deadline)) {
                try {
                    FramedConnection greeted = FramedConnection.greet(call.get(), encryption, secret, number, millis);
                    calls.keep(call.get());
                    return greeted;
                } catch (IOException e) {
                    foreign = Optional.of(e);
                }
            }
            throw foreign.or(calls::refusal).orElseGet(() -> new SocketTimeoutException("it does not answer"));
        }
    }

    private static int millis(long nanos) {
        return (int) Math.min(Integer.MAX_VALUE, Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos)));
    }

    /**
     * The next connection that was made; it is closed with the others.
     *
     * @param deadline a time of {@link System#nanoTime()}; connections made before it are still returned after it
     * @return empty if no other address answers in time
     */
    public Optional<SocketChannel> next(long deadline) throws IOException {
        selector.selectNow(); // the selector also forgets the channels that are connected
        take();
        while (answered.isEmpty() && isWaiting()) {
            if (Thread.currentThread().isInterrupted()) {
                throw new ClosedByInterruptException();
            }
            long millis = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            if (millis <= 0) {
                break;
            }
            selector.select(millis);
            take();
        }
        return answered.isEmpty() ? Optional.empty() : Optional.of(opened(answered.remove()));
    }

    /** Leaves one of the connections open. */
    public void keep(SocketChannel one) {
        channels.remove(one);
    }

    /** Why one of the addresses cannot be reached; empty if that is not known of any. */
    public Optional<IOException> refusal() {
        return refusal;
    }

    @Override
    public void close() throws IOException {
        for (SocketChannel channel : channels) {
            channel.close();
        }
        selector.close();
    }

    private void call(InetSocketAddress address) throws IOException {
        SocketChannel channel = SocketChannel.open();
        channels.add(channel);
        channel.configureBlocking(false);
        try {
            if (channel.connect(address)) {
                answered.add(channel);
            } else {
                channel.register(selector, SelectionKey.OP_CONNECT);
            }
        } catch (IOException e) {
            refused(channel, e);
        }
    }

    private void take() throws IOException {
        for (SelectionKey key : selector.selectedKeys()) {
            var channel = (SocketChannel) key.channel();
            key.cancel();
            try {
                channel.finishConnect();
                answered.add(channel);
            } catch (IOException e) {
                refused(channel, e);
            }
        }
        selector.selectedKeys().clear();
    }

    /** Another address may be reached from here. */
    private void refused(SocketChannel channel, IOException why) throws IOException {
        refusal = Optional.of(why);
        channel.close();
    }

    private boolean isWaiting() {
        return selector.keys().stream().anyMatch(SelectionKey::isValid);
    }

    private SocketChannel opened(SocketChannel channel) throws IOException {
        selector.selectNow();
        channel.configureBlocking(true);
        return channel;
    }
}
