package io.hvd.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.net.HandshakeListener.Accepted;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Over the loopback of this machine. */
@Timeout(60)
final class HandshakeListenerTest {
    /** Less than the patience with one stranger, so that a test fails which waits for one to be dropped. */
    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(4);

    private static final int READ_LIMIT_MILLIS = 20_000;
    private static final int CROWD = 300;

    private final byte[] secret = HandshakeListener.newSecret();
    private final List<Socket> callers = new ArrayList<>();
    private InetSocketAddress address;
    private HandshakeListener listener;

    @BeforeEach
    void open() throws IOException {
        ServerSocketChannel socket = HandshakeListener.bind(InetAddress.getLoopbackAddress(), PortRange.ANY);
        address = (InetSocketAddress) socket.getLocalAddress();
        listener = new HandshakeListener(List.of(socket));
    }

    @AfterEach
    void close() throws IOException {
        for (Socket caller : callers) {
            caller.close();
        }
        listener.close();
    }

    @Test
    void aHelloWithTheSecretIsAcceptedAndWhatFollowsItIsTheConnections() throws IOException {
        Socket caller = call(secret, 7);
        caller.getOutputStream().write(new byte[] {0, 0, 0, 2, 8, 9});

        Accepted accepted = next().orElseThrow();

        assertThat(accepted.number()).isEqualTo(7);
        assertThat(accepted.connection().receiveBytes(2)).containsExactly(8, 9);
        accepted.connection().send(new byte[] {10});
        assertThat(caller.getInputStream().readNBytes(5)).containsExactly(0, 0, 0, 1, 10);
        accepted.connection().close();
    }

    @Test
    void aWrongSecretIsDroppedAndTheNextConnectionAccepted() throws IOException {
        byte[] wrong = secret.clone();
        wrong[HandshakeListener.SECRET_BYTES - 1] ^= 1;
        Socket guessing = call(wrong, 1);
        Socket garbage = call(new byte[1_000]);
        call(secret, 2);

        assertThat(next().orElseThrow().number()).isEqualTo(2);
        assertThat(guessing.getInputStream().read()).isEqualTo(-1);
        assertThatDropped(garbage);
    }

    @Test
    void whoComesWithEncryptionWhereThereIsNoneIsTold() throws IOException {
        call(new byte[1_000]);
        assertThat(listener.next(secret, TimeUnit.MILLISECONDS.toNanos(300))).isEmpty();
        assertThat(listener.refused()).isEmpty();
        byte[] beginning = new byte[200];
        beginning[0] = 22;
        beginning[1] = 3;
        call(beginning);
        assertThat(listener.next(secret, TimeUnit.MILLISECONDS.toNanos(300))).isEmpty();
        assertThat(listener.refused()).contains("with encryption", "here HVD_TLS is 0");
    }

    @Test
    void whoComesWithoutEncryptionWhereThereIsSomeIsNotAccepted() throws IOException {
        listener.close();
        ServerSocketChannel socket = HandshakeListener.bind(InetAddress.getLoopbackAddress(), PortRange.ANY);
        address = (InetSocketAddress) socket.getLocalAddress();
        listener = new HandshakeListener(List.of(socket), Encryption.TLS);
        call("GET / HTTP/1.0 and more".getBytes(StandardCharsets.US_ASCII));
        assertThat(listener.next(secret, TimeUnit.MILLISECONDS.toNanos(300))).isEmpty();
        assertThat(listener.refused()).contains("TLS has failed");
        listener.close();
        socket = HandshakeListener.bind(InetAddress.getLoopbackAddress(), PortRange.ANY);
        address = (InetSocketAddress) socket.getLocalAddress();
        listener = new HandshakeListener(List.of(socket), Encryption.TLS);
        Socket rank = call(secret, 6);
        assertThat(listener.next(secret, TimeUnit.MILLISECONDS.toNanos(300))).isEmpty();
        assertThat(listener.refused()).contains("of this job came without the encryption");
        assertThatDropped(rank);
    }

    @Test
    void strangersThatSayNothingOrHalfOfItKeepNobodyWaiting() throws IOException {
        for (int i = 0; i < 40; i++) {
            call(new byte[i % HandshakeListener.SECRET_BYTES]);
        }
        call(secret, 3);

        assertThat(next().orElseThrow().number()).isEqualTo(3);
    }

    @Test
    void ofTooManyPendingTheFirstAreDroppedAndOneWithTheSecretIsAccepted() throws IOException {
        Socket first = call(new byte[0]);
        for (int i = 0; i < CROWD; i++) {
            call(new byte[0]);
        }
        call(secret, 4);

        assertThat(next().orElseThrow().number()).isEqualTo(4);
        assertThat(first.getInputStream().read()).isEqualTo(-1);
    }

    @Test
    void manyConnectionsWithTheSecretAreAcceptedToTheLast() throws IOException {
        for (int i = 0; i < CROWD; i++) {
            call(secret, 5);
        }

        for (int i = 0; i < CROWD; i++) {
            Accepted accepted = next().orElseThrow();
            assertThat(accepted.number()).isEqualTo(5);
            accepted.connection().close();
        }
    }

    @Test
    void aSlowConnectionIsDropped() throws IOException {
        Socket slow = call(new byte[3]);

        assertThat(listener.next(secret, TimeUnit.SECONDS.toNanos(6))).isEmpty();

        assertThat(slow.getInputStream().read()).isEqualTo(-1);
    }

    @Test
    void aConnectionThatIsClosedIsForgotten() throws IOException {
        call(new byte[2]).close();
        Socket rude = call(new byte[3]);
        rude.setSoLinger(true, 0); // close() resets the connection
        rude.close();
        call(secret, 6);

        assertThat(next().orElseThrow().number()).isEqualTo(6);
    }

    @Test
    void nobodyInTimeIsNobody() throws IOException {
        assertThat(listener.next(secret, 1)).isEmpty();
    }

    /** Sometimes the connection is just being accepted. */
    @RepeatedTest(100)
    void closingEndsTheWaitAndTheListening() throws Exception {
        Socket stranger = call(new byte[0]);
        CompletableFuture<Optional<Accepted>> waiting = CompletableFuture.supplyAsync(() -> {
            try {
                return listener.next(secret, Long.MAX_VALUE);
            } catch (IOException e) {
                throw new java.io.UncheckedIOException(e);
            }
        });

        listener.close();

        assertThat(waiting.get(20, TimeUnit.SECONDS)).isEmpty();
        assertThatThrownBy(() -> call(secret, 1)).isInstanceOf(ConnectException.class);
        assertThatDropped(stranger);
    }

    @Test
    void aSocketListensAtItsAddressOnly() throws IOException {
        assertThat(address.getAddress()).isEqualTo(InetAddress.getLoopbackAddress());
        assertThatThrownBy(() -> new Socket("127.0.0.2", address.getPort())).isInstanceOf(ConnectException.class);
    }

    private Optional<Accepted> next() throws IOException {
        return listener.next(secret, LIMIT_NANOS);
    }

    /** Connects with a hello, or another beginning. */
    private Socket call(byte[] secret, int number) throws IOException {
        return call(ByteBuffer.allocate(secret.length + Integer.BYTES)
                .put(secret)
                .putInt(number)
                .array());
    }

    private Socket call(byte[] said) throws IOException {
        Socket caller = new Socket(address.getAddress(), address.getPort());
        callers.add(caller);
        caller.setSoTimeout(READ_LIMIT_MILLIS);
        caller.getOutputStream().write(said);
        return caller;
    }

    /** With bytes of its that nobody read, the connection is reset. */
    private static void assertThatDropped(Socket stranger) {
        try {
            assertThat(stranger.getInputStream().read()).isEqualTo(-1);
        } catch (IOException e) {
            assertThat(e).hasMessageContaining("reset");
        }
    }
}
