package io.hvd.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import java.io.EOFException;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Over the loopback of this machine. */
@Timeout(60)
class FramedConnectionTest {
    private static final int LIMIT_MILLIS = 20_000;
    private static final int LONGEST = 1 << 26;

    private final byte[] secret = HandshakeListener.newSecret();
    private HandshakeListener listener;
    private InetSocketAddress address;
    private FramedConnection client;
    private FramedConnection server;

    @BeforeEach
    void connect() throws IOException {
        ServerSocketChannel socket = HandshakeListener.bind(InetAddress.getLoopbackAddress(), PortRange.ANY);
        address = (InetSocketAddress) socket.getLocalAddress();
        listener = new HandshakeListener(List.of(socket));
        CompletableFuture<FramedConnection> dialled = dial(3);
        server = accept().connection();
        client = dialled.join();
        server.limitReads(LIMIT_MILLIS);
    }

    private CompletableFuture<FramedConnection> dial(int number) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                return FramedConnection.dial(address, secret, number, LIMIT_MILLIS);
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
    }

    private HandshakeListener.Accepted accept() throws IOException {
        return listener.next(secret, TimeUnit.SECONDS.toNanos(20)).orElseThrow();
    }

    @AfterEach
    void close() throws IOException {
        client.close();
        server.close();
        listener.close();
    }

    /** Content that depends on the place. */
    private static byte[] pattern(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i * 7 + (i >>> 11));
        }
        return bytes;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 8187, 8188, 8189, 131_072, 5_000_011})
    void aMessageArrivesWholeWhileBothEndsBlock(int length) throws Exception {
        CompletableFuture<Void> sent = CompletableFuture.runAsync(() -> {
            send(client, length);
            send(client, 3);
        });

        assertThat(server.receiveBytes(length)).isEqualTo(pattern(length));
        assertThat(server.receiveBytes(3)).isEqualTo(pattern(3));
        server.send(pattern(2));
        assertThat(client.receiveBytes(2)).isEqualTo(pattern(2));
        sent.get(20, TimeUnit.SECONDS);
    }

    private static void send(FramedConnection connection, int length) {
        try {
            connection.send(pattern(length));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 8188, 8189, 5_000_011})
    void aMessageArrivesWholeWhileNeitherEndBlocks(int length) throws Exception {
        try (Selector clients = Selector.open();
                Selector servers = Selector.open()) {
            client.register(clients, null);
            server.register(servers, null);
            client.enqueue(ByteBuffer.wrap(pattern(length)));
            client.enqueue(ByteBuffer.wrap(pattern(3)));
            List<byte[]> arrived = new ArrayList<>();

            while (arrived.size() < 2) {
                client.flush();
                assertThat(server.poll(LONGEST, message -> arrived.add(message.array())))
                        .isTrue();
            }

            assertThat(arrived).containsExactly(pattern(length), pattern(3));
            assertThat(client.isFlushed()).isTrue();
        }
    }

    @Test
    void manyMessagesThatArriveTogetherAreToldApartAlsoIfTheLastOneIsCut() throws Exception {
        ByteBuffer stream = ByteBuffer.allocate(100_000);
        for (int i = 0; i < 300; i++) {
            stream.putInt(i).put(pattern(i));
        }
        stream.flip();
        CompletableFuture<FramedConnection> dialled = dial(9);
        HandshakeListener.Accepted accepted = accept();
        assertThat(accepted.number()).isEqualTo(9);
        try (FramedConnection caller = dialled.join();
                FramedConnection other = accepted.connection()) {
            caller.wire().write(stream.limit(stream.limit() - 1));
            for (int i = 0; i < 299; i++) {
                assertThat(other.receiveBytes(LONGEST)).isEqualTo(pattern(i));
            }
            caller.wire().socket().shutdownOutput();
            assertThatThrownBy(() -> other.receive(LONGEST))
                    .isInstanceOf(EOFException.class)
                    .hasMessage("the connection ended within a message");
        }
    }

    @Test
    void theEndOfAConnectionIsNoticedInBothWays() throws Exception {
        client.close();

        assertThatThrownBy(() -> server.receive(LONGEST))
                .isInstanceOf(EOFException.class)
                .hasMessage("the connection ended");
        try (Selector selector = Selector.open()) {
            server.register(selector, null);
            assertThat(server.poll(LONGEST, message -> {})).isFalse();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 11, Integer.MIN_VALUE, Integer.MAX_VALUE})
    void aLengthBeyondTheLimitIsRefusedBeforeTheMessageComes(int announced) throws Exception {
        client.wire().socket().write(ByteBuffer.allocate(4).putInt(0, announced));

        assertThatThrownBy(() -> server.receive(10))
                .isInstanceOf(IOException.class)
                .hasMessage("it announced a message of " + announced + " bytes, expected 0 to 10 bytes");
        try (Selector selector = Selector.open()) {
            server.register(selector, null);
            client.wire().socket().write(ByteBuffer.allocate(4));
            assertThatThrownBy(() -> server.poll(10, message -> {}))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("announced a message of " + announced);
        }
    }

    /** Only what has come takes memory, not what was announced. */
    @Test
    void aLongMessageThatDoesNotComeTakesNoMemory() throws Exception {
        server.limitReads(100);
        client.wire().socket().write(ByteBuffer.allocate(20).putInt(0, 1 << 29));
        var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());

        assertThatThrownBy(() -> server.receive(1 << 30)).isInstanceOf(SocketTimeoutException.class);

        assertThat(threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - before)
                .isLessThan(10L << 20);
    }

    @Test
    void aReadEndsWithItsLimit() throws Exception {
        server.limitReads(50);

        assertThatThrownBy(() -> server.receive(LONGEST)).isInstanceOf(SocketTimeoutException.class);
    }

    @Test
    void whatWasDiscardedCountsAsFlushed() throws Exception {
        client.enqueue(ByteBuffer.allocate(10));
        assertThat(client.isFlushed()).isFalse();

        client.discard();

        assertThat(client.isFlushed()).isTrue();
    }

    @Test
    void aMessageIsSentFromItsPositionToItsLimit() throws Exception {
        client.send(ByteBuffer.wrap(new byte[] {9, 1, 2, 9}).position(1).limit(3));

        assertThat(server.receiveBytes(LONGEST)).containsExactly(1, 2);
    }
}
