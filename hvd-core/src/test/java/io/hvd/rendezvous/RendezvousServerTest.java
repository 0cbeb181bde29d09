package io.hvd.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import io.hvd.net.Encryption;
import io.hvd.net.FramedConnection;
import io.hvd.net.HandshakeListener;
import io.hvd.net.PortRange;
import io.hvd.testing.DamagedMessages;
import io.hvd.testing.FreePorts;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RendezvousServerTest {
    /** Ranks of the launcher's job. */
    private static final int SIZE = 4;

    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofSeconds(1);

    private final byte[] secret = HandshakeListener.newSecret();
    private final List<AutoCloseable> open = new ArrayList<>();
    private InetSocketAddress address;

    @BeforeEach
    void start() throws IOException {
        start(LONG);
    }

    private void start(Duration limit) throws IOException {
        ServerSocketChannel socket = HandshakeListener.bind(InetAddress.getLoopbackAddress(), PortRange.ANY);
        address = (InetSocketAddress) socket.getLocalAddress();
        open.add(RendezvousServer.start(
                List.of(socket), new RendezvousServer.Job(SIZE, secret, Encryption.NONE, limit)));
    }

    @AfterEach
    void closeAll() throws Exception {
        for (AutoCloseable one : open) {
            one.close();
        }
    }

    /** A place at an address, with a secret. */
    private record At(List<InetSocketAddress> addresses, byte[] secret) implements Rendezvous.Place {
        @Override
        public Encryption encryption() {
            return Encryption.NONE;
        }

        @Override
        public OptionalInt server() {
            return OptionalInt.of(0);
        }

        @Override
        public String source() {
            return "HVD_RENDEZVOUS=here";
        }
    }

    private CompletableFuture<Rendezvous> join(int rank, List<Integer> members, Duration limit, byte[] its) {
        return join(new At(List.of(address), its), rank, members, limit);
    }

    private CompletableFuture<Rendezvous> join(
            Rendezvous.Place place, int rank, List<Integer> members, Duration limit) {
        CompletableFuture<Rendezvous> joined = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                joined.complete(Rendezvous.join(place, new Rendezvous.Rank(rank, SIZE, "host" + rank), members, limit));
            } catch (Throwable e) {
                joined.completeExceptionally(e);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return joined;
    }

    private CompletableFuture<Rendezvous> join(int rank, List<Integer> members) {
        return join(rank, members, LONG, secret);
    }

    private static CompletableFuture<List<String>> say(CompletableFuture<Rendezvous> joined, String what) {
        return joined.thenApplyAsync(one -> one.exchange(what.getBytes(StandardCharsets.UTF_8)).stream()
                .map(bytes -> new String(bytes, StandardCharsets.UTF_8))
                .toList());
    }

    private static String message(CompletableFuture<?> failed) throws InterruptedException {
        try {
            failed.get(40, TimeUnit.SECONDS);
        } catch (java.util.concurrent.ExecutionException e) {
            assertThat(e.getCause()).isInstanceOf(HvdException.class);
            return e.getCause().getMessage();
        } catch (java.util.concurrent.TimeoutException e) {
            throw new AssertionError("still waiting", e);
        }
        throw new AssertionError("it has not failed");
    }

    @Test
    void twoJobsMeetAtOnePlaceEachInItsOwnOrder() throws Exception {
        var zero = join(0, List.of(2, 0));
        var one = join(1, List.of(1, 3));
        var two = join(2, List.of(2, 0));
        var three = join(3, List.of(1, 3));

        assertThat(say(zero, "zero")
                        .thenCombine(say(two, "two"), (a, b) -> List.of(a, b))
                        .get())
                .containsOnly(List.of("two", "zero"));
        assertThat(say(one, "one")
                        .thenCombine(say(three, "three"), (a, b) -> List.of(a, b))
                        .get())
                .containsOnly(List.of("one", "three"));
        assertThat(say(two, "")
                        .thenCombine(say(zero, "again"), (a, b) -> List.of(a, b))
                        .get())
                .as("as often as all of them say something")
                .containsOnly(List.of("", "again"));
    }

    @Test
    void theRanksThatHaveNotComeAreNamed() throws Exception {
        start(SHORT);

        assertThat(message(join(1, List.of(0, 1, 2, 3), SHORT, secret)))
                .contains("ranks [0, 2, 3] of 4 have not come", "within 1 s", "1 from host1");
    }

    @Test
    void aRankThatComesTwiceEndsAllWhoHaveCome() throws Exception {
        var zero = join(0, List.of(0, 1, 2));
        var first = join(1, List.of(0, 1, 2));
        Thread.sleep(300);
        var second = join(1, List.of(0, 1, 2));

        for (var joined : List.of(zero, first, second)) {
            assertThat(message(joined))
                    .contains("rank 1 has come from host1, and then again from host1", "an HVD_SECRET of its own");
        }
    }

    /** Nobody knows which of the two is of this job, so the one that comes after them cannot meet either. */
    @Test
    void aRankThatComesAfterTwoThatAreOneIsToldSo() throws Exception {
        var first = join(1, List.of(0, 1, 2));
        var second = join(1, List.of(0, 1, 2));
        assertThat(message(first)).contains("rank 1 has come from");
        assertThat(message(second)).contains("rank 1 has come from");

        assertThat(message(join(0, List.of(0, 1, 2))))
                .contains("rank 1 has come from host1, and then again from host1");
    }

    private FramedConnection come(int rank, List<Integer> members) throws IOException {
        FramedConnection connection = FramedConnection.dial(address, secret, rank, 5_000);
        connection.send(new Arrival("host" + rank, SIZE, members).encode());
        assertThat(Answer.decode(connection.receiveBytes(Answer.MOST_WELCOME_BYTES)))
                .isEqualTo(Answer.WELCOME);
        return connection;
    }

    /** As where rank 0 has met the ranks of another choice, and lets others meet later. */
    @Test
    void whoStillWaitsWhenTheRendezvousIsClosedIsHungUpOn() throws Exception {
        FramedConnection waiting = come(3, List.of(1, 3));
        open.add(waiting);

        open.get(0).close();

        assertThatThrownBy(() -> waiting.receive(1)).isInstanceOf(EOFException.class);
    }

    @Test
    void aRankThatHasLostItsConnectionMayComeAgain() throws Exception {
        come(1, List.of(0, 1)).close();
        var one = join(1, List.of(0, 1));
        var zero = join(0, List.of(0, 1));

        assertThat(say(zero, "a").thenCombine(say(one, "b"), (a, b) -> b).get()).containsExactly("a", "b");
    }

    /** More than the server keeps for a message, with a length that no message has. */
    @Test
    void aRankThatSpeaksOutOfTurnIsForgottenAndTheOthersMeet() throws Exception {
        FramedConnection rude = come(1, List.of(0, 1));
        open.add(rude);
        rude.wire().write(ByteBuffer.allocate(100_000).putInt(0, Integer.MIN_VALUE));
        assertThatThrownBy(() -> rude.receive(1)).isInstanceOf(IOException.class);
        var one = join(1, List.of(0, 1));
        var zero = join(0, List.of(0, 1));

        assertThat(say(zero, "a").thenCombine(say(one, "b"), (a, b) -> b).get()).containsExactly("a", "b");
    }

    @Test
    void aRankThatEndsBeforeAllHaveComeIsNamed() throws Exception {
        start(Duration.ofSeconds(2));
        come(2, List.of(0, 1, 2)).close();

        assertThat(message(join(0, List.of(0, 1, 2))))
                .contains(
                        "ranks [1, 2] of 3 have not come",
                        "these have come: [0 from host0]",
                        "had come, and have ended: [2 from host2]");
    }

    @Test
    void whatAnswersOtherwiseThanARendezvousIsNone() throws Exception {
        try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            address = new InetSocketAddress(other.getInetAddress(), other.getLocalPort());
            var one = join(1, List.of(0, 1), SHORT, secret);
            other.setSoTimeout(100);
            while (!one.isDone()) {
                try (Socket knocks = other.accept()) {
                    knocks.getOutputStream().write(new byte[] {0, 0, 0, 2, 'O', 'K'});
                } catch (SocketTimeoutException e) {
                    // It has not tried again yet.
                }
            }
            // The last try may have no time left for an answer.
            assertThat(message(one)).contains("does not reach", "another job or program may have that port");
        }
    }

    @Test
    void aRankOfAnotherJobIsToldThatNobodyKnowsIt() throws Exception {
        assertThat(message(join(0, List.of(0, 1), SHORT, HandshakeListener.newSecret())))
                .contains(
                        "rank 0 (host0) does not reach HVD_RENDEZVOUS=here",
                        "another job or program may have that port");
    }

    @Test
    void whereNobodyListensTheRankSaysSo() throws Exception {
        address = new InetSocketAddress(InetAddress.getLoopbackAddress(), FreePorts.one());
        assertThat(message(join(1, List.of(0, 1), SHORT, secret)))
                .contains("Connection refused", "tried for 1 s (HOROVOD_START_TIMEOUT)")
                .doesNotContain("not among");
        assertThat(message(join(1, List.of(1, 3), SHORT, secret)))
                .as("rank 0 has no reason to call Hvd.init")
                .contains("Rank 0, which is not among the ranks [1, 3], lets the others meet", "--gloo");
    }

    /** As where mpirun names an address that leads elsewhere, or another job has the first of the ports. */
    @Test
    void ofSeveralAddressesTheOneIsFoundThatHasTheRendezvous() throws Exception {
        InetSocketAddress closed = new InetSocketAddress(InetAddress.getLoopbackAddress(), FreePorts.one());
        try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            InetSocketAddress foreign = new InetSocketAddress(silent.getInetAddress(), silent.getLocalPort());
            InetSocketAddress unknown = InetSocketAddress.createUnresolved("job-0.service", 29_400);
            At place = new At(List.of(unknown, closed, foreign, address), secret);

            assertThat(say(join(place, 0, List.of(0), LONG), "here").get()).containsExactly("here");
        }
    }

    @Test
    void aNameThatGetsItsAddressLateIsWaitedFor() throws Exception {
        AtomicInteger asked = new AtomicInteger();
        Rendezvous.Place late = new Rendezvous.Place() {
            @Override
            public List<InetSocketAddress> addresses() throws IOException {
                if (asked.incrementAndGet() < 5) {
                    throw new UnknownHostException("job-0.service");
                }
                return List.of(address);
            }

            @Override
            public byte[] secret() {
                return secret;
            }

            @Override
            public Encryption encryption() {
                return Encryption.NONE;
            }

            @Override
            public OptionalInt server() {
                return OptionalInt.empty();
            }

            @Override
            public String source() {
                return "HVD_RENDEZVOUS=job-0.service:29400";
            }
        };
        assertThat(say(join(late, 0, List.of(0), LONG), "here").get()).containsExactly("here");
        assertThat(asked).hasValue(5);
    }

    @Test
    void aRankThatDiesEndsTheExchangeOfTheOthers() throws Exception {
        var zero = join(0, List.of(0, 1));
        join(1, List.of(0, 1)).get().close();

        // By HVD-303 the launcher knows that this rank's failure is only a consequence.
        assertThat(message(say(zero, "zero"))).contains("[HVD-303] rank 1 (host1) has left the rendezvous");
    }

    @Test
    void strangersKeepNobodyFromMeeting() throws Exception {
        var zero = join(0, List.of(0, 1));
        for (int i = 0; i < 1_000; i++) {
            Socket stranger = new Socket(address.getAddress(), address.getPort());
            stranger.getOutputStream().write(said(i % 4));
            open.add(stranger);
        }
        var one = join(1, List.of(0, 1));
        assertThat(say(zero, "a").thenCombine(say(one, "b"), (a, b) -> a).get()).containsExactly("a", "b");
    }

    /** Nothing, half a hello, garbage, and a hello with a wrong proof. */
    private static byte[] said(int kind) {
        return switch (kind) {
            case 0 -> new byte[0];
            case 1 -> new byte[HandshakeListener.SECRET_BYTES / 2];
            case 2 -> "GET / HTTP/1.0\r\nHost: somebody\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
            default ->
                ByteBuffer.allocate(56)
                        .putInt(0x68_76_64_01)
                        .putInt(52, Integer.MAX_VALUE)
                        .array();
        };
    }

    @Test
    void aProcessOfTheJobThatSaysNothingKeepsNobodyWaiting() throws Exception {
        FramedConnection silent = FramedConnection.dial(address, secret, 0, 5_000);
        open.add(silent);
        FramedConnection oversized = FramedConnection.dial(address, secret, 0, 5_000);
        open.add(oversized);
        oversized.wire().write(ByteBuffer.allocate(2 * Integer.BYTES).putInt(0, Integer.MAX_VALUE));
        var zero = join(0, List.of(0, 1));
        var one = join(1, List.of(0, 1));
        assertThat(say(zero, "a").thenCombine(say(one, "b"), (a, b) -> a).get()).containsExactly("a", "b");
    }

    @Test
    void aRankOfAnotherSizeIsRefusedAtOnceAndTheOthersHearOfIt() throws Exception {
        start(Duration.ofSeconds(2));
        var zero = join(0, List.of(0, 1), LONG, secret);
        CompletableFuture<Rendezvous> stranger = CompletableFuture.supplyAsync(() -> Rendezvous.join(
                new At(List.of(address), secret), new Rendezvous.Rank(1, 3, "elsewhere"), List.of(0, 1, 2), LONG));

        assertThat(message(stranger))
                .contains(
                        "rank 1 from elsewhere says that there are 3 ranks, but the job that meets here has 4",
                        "HVD_SECRET");
        assertThat(message(zero))
                .contains("ranks [1] of 2 have not come", "rank 1 from elsewhere says that there are 3 ranks");
    }

    /** As a process does that is stopped between the rendezvous and all that watches it later. */
    @Test
    void aRankThatSaysNothingAfterItHasComeIsNamedWithinTheLimit() throws Exception {
        start(Duration.ofSeconds(2)); // one that says something has time enough for it
        for (int silent : new int[] {0, 1}) {
            var one = join(1 - silent, List.of(0, 1));
            var other = join(silent, List.of(0, 1));
            other.get();

            assertThat(message(say(one, "one")))
                    .contains("rank " + silent + " (host" + silent + ") has come", "said nothing for 2 s");
        }
    }

    @Test
    void aServerThatIsStoppedIsNotWaitedForLongerThanTheLimit() throws Exception {
        try (ServerSocketChannel silent = HandshakeListener.bind(InetAddress.getLoopbackAddress(), PortRange.ANY)) {
            address = (InetSocketAddress) silent.getLocalAddress();
            var zero = join(0, List.of(0), SHORT, secret);
            try (var connection = new HandshakeListener(List.of(silent))
                    .next(secret, LONG.toNanos())
                    .orElseThrow()
                    .connection()) {
                connection.receiveBytes(Arrival.MOST_BYTES);
                connection.send(Answer.WELCOME.encode());
                connection.send(Answer.of(List.of()).encode());

                assertThat(message(say(zero, "zero"))).contains("no answer for 1 s (HOROVOD_START_TIMEOUT)");
            }
        }
    }

    @Test
    void closingEndsAWait() throws Exception {
        var zero = join(0, List.of(0, 1));
        join(1, List.of(0, 1)).get();
        Rendezvous waits = zero.get();
        var said = say(zero, "zero");
        Thread.sleep(200);
        waits.close();

        assertThat(message(said)).contains("rank 0 has lost the rendezvous");
    }

    @Test
    void damagedMessagesAreRefused() {
        DamagedMessages.of(new Arrival("host", 2, List.of(0, 1)).encode(), Arrival::decode);
        DamagedMessages.of(Answer.of(List.of(new byte[] {1})).encode(), Answer::decode);
    }
}
