package io.hvd.transport.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import io.hvd.net.Encryption;
import io.hvd.net.FramedConnection;
import io.hvd.net.HandshakeListener;
import io.hvd.net.HandshakeListener.Accepted;
import io.hvd.net.PortRange;
import io.hvd.transport.tcp.Dialler.DataAddresses;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Links that are given up at the moments that are hard to hit. Rank 1 dials rank 0, which is the test itself. */
@Timeout(60)
class LinksAbortTest {
    private static final String WHY = "rank 3 has died";
    private static final int ROUNDS = 200;

    private final byte[] secret = HandshakeListener.newSecret();
    private final HookedSelector selector;
    private ServerSocketChannel socket;
    private HandshakeListener other;
    private CompletableFuture<Accepted> accepted;
    private Links links;

    LinksAbortTest() throws IOException {
        selector = new HookedSelector();
    }

    @BeforeEach
    void open() throws IOException {
        socket = HandshakeListener.bind(InetAddress.getLoopbackAddress(), PortRange.ANY);
        other = new HandshakeListener(List.of(socket));
        accepted = CompletableFuture.supplyAsync(this::next, task -> new Thread(task, "rank-0").start());
        links = links(List.of(address(socket), new InetSocketAddress(0)));
    }

    /** The connection of rank 1; null if it has not come when the test ends. */
    private Accepted next() {
        try {
            return other.next(secret, TimeUnit.MILLISECONDS.toNanos(LinkedRanks.LIMIT_MILLIS))
                    .orElse(null);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Links links(List<InetSocketAddress> ofRanks) throws IOException {
        HandshakeListener own =
                new HandshakeListener(List.of(HandshakeListener.bind(InetAddress.getLoopbackAddress(), PortRange.ANY)));
        return LinkedRanks.links(1, 1, new DataAddresses(ofRanks, secret, Encryption.NONE), own, selector);
    }

    @AfterEach
    void close() throws IOException {
        links.close();
        other.close();
    }

    @Test
    void anAbortBeforeANewConnectionIsRegisteredClosesIt() throws Exception {
        selector.beforeRegistration = () -> links.abandon(WHY);
        requireEnd();
    }

    @Test
    void anAbortWhileANewConnectionIsRegisteredClosesIt() throws Exception {
        selector.afterRegistration = () -> links.abandon(WHY);
        requireEnd();
    }

    /** Who gives up looks for the connections at the moment before this one is among them. */
    @Test
    void anAbortThatMissesANewConnectionClosesItAllTheSame() throws Exception {
        selector.hidesKeys = true;
        selector.afterRegistration = () -> links.abandon(WHY);
        requireEnd();
    }

    @Test
    void anAbortWhileDiallingEndsTheDialling() throws IOException {
        links.close();
        links = links(new AbstractList<>() {
            @Override
            public InetSocketAddress get(int rank) {
                links.abandon(WHY); // the socket is open by now, and not connected
                return address(socket);
            }

            @Override
            public int size() {
                return 2;
            }
        });
        assertThatThrownBy(this::send).isInstanceOf(ShutdownException.class).hasMessageContaining(WHY);
    }

    private static InetSocketAddress address(ServerSocketChannel socket) {
        return (InetSocketAddress) socket.socket().getLocalSocketAddress();
    }

    /** The send throws what the job was given up for, and the other rank sees the end of the connection. */
    private void requireEnd() throws Exception {
        assertThatThrownBy(this::send).isInstanceOf(ShutdownException.class).hasMessageContaining(WHY);
        try (FramedConnection connection = accepted.get(20, TimeUnit.SECONDS).connection()) {
            connection.limitReads(LinkedRanks.LIMIT_MILLIS);
            assertThatThrownBy(() -> connection.receiveBytes(1)).isInstanceOf(EOFException.class);
        }
    }

    private Transfer send() {
        return links.send(1, 2, ByteBuffer.allocateDirect(8), 0);
    }

    @Test
    void threadsMayAllGiveUpAtOnce() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            try (LinkedRanks ranks = new LinkedRanks(2, 1)) {
                Links one = ranks.of(1);
                one.send(1, 2, ByteBuffer.allocateDirect(8), 0);
                CyclicBarrier start = new CyclicBarrier(3);
                List<CompletableFuture<Throwable>> all = new ArrayList<>();
                for (int i = 0; i < 3; i++) {
                    all.add(CompletableFuture.supplyAsync(
                            () -> catchThrowable(() -> {
                                start.await();
                                one.abandon(WHY);
                            }),
                            task -> new Thread(task, "abort").start()));
                }
                for (CompletableFuture<Throwable> thread : all) {
                    assertThat(thread.get(20, TimeUnit.SECONDS)).isNull();
                }
            }
        }
    }

    /** Each rank ends with the reason, or with the other rank's end. */
    @Test
    void ranksInTheMiddleOfTransfersEndWheneverAnotherThreadGivesUp() throws Exception {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        for (int round = 0; round < ROUNDS; round++) {
            try (LinkedRanks ranks = new LinkedRanks(2, 1 + random.nextInt(3))) {
                List<CompletableFuture<Throwable>> running = new ArrayList<>();
                for (int rank = 0; rank < 2; rank++) {
                    int self = rank;
                    running.add(CompletableFuture.supplyAsync(
                            () -> catchThrowable(() -> exchange(ranks.of(self), 1 - self)),
                            task -> new Thread(task, "rank-" + self).start()));
                }
                LockSupport.parkNanos(random.nextInt(1_500_000));
                int first = random.nextInt(2);
                // A rank to which nobody has connected yet learns of the end by the control plane alone.
                for (int rank : new int[] {first, 1 - first}) {
                    ranks.of(rank).abandon(WHY);
                    assertThat(running.get(rank).get(20, TimeUnit.SECONDS))
                            .as("round %d of seed %d", round, seed)
                            .isInstanceOf(HvdException.class)
                            .hasMessageMatching(".*(" + WHY + "|is gone|cannot be reached for data).*");
                }
            }
        }
    }

    private static void exchange(Links links, int other) {
        ByteBuffer out = ByteBuffer.allocateDirect(50_000);
        ByteBuffer in = ByteBuffer.allocateDirect(50_000);
        for (int tag = 0; ; tag = (tag + 1) % 100) {
            LinkedRanks.await(links.receive(1, tag, in, other), links.send(1, tag, out, other));
        }
    }
}
