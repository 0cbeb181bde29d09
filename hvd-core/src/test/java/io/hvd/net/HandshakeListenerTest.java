package io.hvd.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.net.HandshakeListener.Accepted;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
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
    private final byte[] hello = Hello.of(1).encode().array();
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
    void aCallerThatKnowsTheSecretIsAcceptedAndWhatFollowsIsTheConnections() throws Exception {
        CompletableFuture<FramedConnection> called = call(secret, 7);

        Accepted accepted = next().orElseThrow();

        assertThat(accepted.number()).isEqualTo(7);
        try (FramedConnection connection = accepted.connection();
                FramedConnection caller = called.get(20, TimeUnit.SECONDS)) {
            caller.send(new byte[] {8, 9});
            assertThat(connection.receiveBytes(2)).containsExactly(8, 9);
            connection.send(new byte[] {10});
            assertThat(caller.receiveBytes(1)).containsExactly(10);
        }
    }

    @Test
    void whoDoesNotKnowTheSecretIsDroppedAndTheNextConnectionAccepted() throws IOException {
        Socket guessing = call(hello);
        byte[] answer = answer(guessing);
        guessing.getOutputStream().write(new byte[Proofs.BYTES]);
        Socket reflecting = call(hello);
        byte[] proof = Arrays.copyOfRange(answer(reflecting), Proofs.WORD_BYTES, Proofs.ANSWER_BYTES);
        reflecting.getOutputStream().write(proof);
        Socket repeating = call(hello);
        answer(repeating);
        // The proof of the first connection is of no use to the third, which has said the same hello.
        repeating.getOutputStream().write(proofs(answer).reply().array());
        Socket garbage = call(new byte[1_000]);
        call(secret, 2);

        assertThat(next().orElseThrow().number()).isEqualTo(2);
        for (Socket stranger : List.of(guessing, reflecting, repeating, garbage)) {
            assertThatDropped(stranger);
        }
    }

    /** What the listener answers to a caller that has said the hello. */
    private byte[] answer(Socket caller) throws IOException {
        assertThat(listener.next(secret, TimeUnit.MILLISECONDS.toNanos(300))).isEmpty();
        return caller.getInputStream().readNBytes(Proofs.ANSWER_BYTES);
    }

    private Proofs proofs(byte[] answer) {
        return new Proofs(
                secret, Hello.decode(ByteBuffer.wrap(hello)).orElseThrow(), Arrays.copyOf(answer, Proofs.WORD_BYTES));
    }

    @Test
    void aCallerTellsAnotherProgramNothingThatFollowsFromTheSecret() throws Exception {
        byte[] ofAnother = answer(call(hello));
        for (byte[] said : List.of(new byte[Proofs.ANSWER_BYTES], ofAnother, new byte[0])) {
            try (ServerSocket impostor = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                address = new InetSocketAddress(impostor.getInetAddress(), impostor.getLocalPort());
                CompletableFuture<FramedConnection> called = call(secret, 1);
                try (Socket caller = impostor.accept()) {
                    caller.setSoTimeout(READ_LIMIT_MILLIS);
                    byte[] its = caller.getInputStream().readNBytes(Hello.BYTES);
                    assertThat(Hello.decode(ByteBuffer.wrap(its)).orElseThrow().number())
                            .isEqualTo(1);
                    caller.getOutputStream().write(said);
                    caller.shutdownOutput();
                    assertThat(caller.getInputStream().read()).isEqualTo(-1);
                }
                assertThat(called)
                        .failsWithin(Duration.ofSeconds(20))
                        .withThrowableOfType(ExecutionException.class)
                        .withMessageContaining("what answers there is no process of this job");
            }
        }
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
        call("GET / HTTP/1.0 and even more".getBytes(StandardCharsets.US_ASCII));
        assertThat(listener.next(secret, TimeUnit.MILLISECONDS.toNanos(300))).isEmpty();
        assertThat(listener.refused()).contains("TLS has failed");
        listener.close();
        socket = HandshakeListener.bind(InetAddress.getLoopbackAddress(), PortRange.ANY);
        address = (InetSocketAddress) socket.getLocalAddress();
        listener = new HandshakeListener(List.of(socket), Encryption.TLS);
        CompletableFuture<FramedConnection> rank = call(secret, 6);
        assertThat(listener.next(secret, TimeUnit.MILLISECONDS.toNanos(300))).isEmpty();
        assertThat(listener.refused()).contains("of this job, came without the encryption");
        assertThat(rank).failsWithin(Duration.ofSeconds(20));
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
        assertThatThrownBy(() -> call(new byte[0])).isInstanceOf(ConnectException.class);
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

    /** Calls as a process of a job does. */
    private CompletableFuture<FramedConnection> call(byte[] its, int number) {
        InetSocketAddress there = address;
        return CompletableFuture.supplyAsync(
                () -> {
                    try {
                        return FramedConnection.dial(there, its, number, READ_LIMIT_MILLIS);
                    } catch (IOException e) {
                        throw new java.io.UncheckedIOException(e.getMessage(), e);
                    }
                },
                task -> new Thread(task, "caller").start());
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
