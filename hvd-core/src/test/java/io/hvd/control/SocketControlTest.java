package io.hvd.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.net.FramedConnection;
import io.hvd.net.HandshakeListener;
import io.hvd.net.Invitation;
import io.hvd.net.PortRange;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.Topology;
import io.hvd.testing.Exchange;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class SocketControlTest {
    private final List<End> open = new ArrayList<>();

    private record News(int rank, byte[] bytes, String lost) {}

    /** A channel with the one thread that may use it, as in a rank. */
    private static final class End implements ControlChannel.Inbox {
        private final SocketControl control;
        private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
        private final BlockingQueue<News> news = new LinkedBlockingQueue<>();
        private final Thread thread = new Thread(this::run, "end");
        private volatile boolean closing;

        End(SocketControl control) {
            this.control = control;
            thread.setDaemon(true);
            thread.start();
        }

        private void run() {
            while (!closing) {
                runTasks();
                control.receive(Long.MAX_VALUE, this);
            }
            runTasks();
            control.close();
        }

        private void runTasks() {
            for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
                task.run();
            }
        }

        void send(int rank, byte[] bytes) {
            tasks.add(() -> control.send(rank, ByteBuffer.wrap(bytes)));
            control.wakeUp();
        }

        News next() throws InterruptedException {
            News next = news.poll(20, TimeUnit.SECONDS);
            assertThat(next).as("news within the limit").isNotNull();
            return next;
        }

        void close() throws InterruptedException {
            closing = true;
            control.wakeUp();
            thread.join(20_000);
            assertThat(thread.isAlive()).isFalse();
        }

        @Override
        public void message(int fromRank, ByteBuffer message) {
            byte[] bytes = new byte[message.remaining()];
            message.get(bytes);
            news.add(new News(fromRank, bytes, null));
        }

        @Override
        public void lost(int rank, String why) {
            news.add(new News(rank, null, why));
        }
    }

    private List<End> ends(int size) throws Exception {
        Star.connect(size).forEach(control -> open.add(new End(control)));
        return open;
    }

    @AfterEach
    void close() throws InterruptedException {
        for (End end : open) {
            end.close();
        }
    }

    /** Content that depends on the sender, the receiver and the place. */
    private static byte[] pattern(int from, int to, int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (31 * from + 17 * to + i * 7 + (i >>> 11));
        }
        return bytes;
    }

    @Test
    void messagesOfAllSizesArriveWholeInBothDirections() throws Exception {
        List<End> ends = ends(2);
        int[] sizes = {0, 1, 4, 8187, 8188, 8189, 100_003, 5_000_011, 3};
        for (int size : sizes) {
            ends.get(0).send(1, pattern(0, 1, size));
            ends.get(1).send(0, pattern(1, 0, size));
        }
        for (int size : sizes) {
            for (int rank = 0; rank < 2; rank++) {
                News news = ends.get(rank).next();
                assertThat(news.rank()).isEqualTo(1 - rank);
                assertThat(news.bytes()).isEqualTo(pattern(1 - rank, rank, size));
            }
        }
    }

    @Test
    void rankZeroHearsEveryRankInItsOwnOrderAndAnswersTheRightOne() throws Exception {
        int count = 5000;
        List<End> ends = ends(3);
        for (int i = 0; i < count; i++) {
            for (int rank = 1; rank < 3; rank++) {
                ends.get(rank)
                        .send(
                                0,
                                ByteBuffer.allocate(4)
                                        .putInt(rank * 1_000_000 + i)
                                        .array());
                ends.get(0)
                        .send(
                                rank,
                                ByteBuffer.allocate(4)
                                        .putInt(-(rank * 1_000_000 + i))
                                        .array());
            }
        }
        int[] expected = {0, 0, 0};
        for (int i = 0; i < 2 * count; i++) {
            News news = ends.get(0).next();
            int number = ByteBuffer.wrap(news.bytes()).getInt();
            assertThat(number).isEqualTo(news.rank() * 1_000_000 + expected[news.rank()]++);
        }
        for (int rank = 1; rank < 3; rank++) {
            for (int i = 0; i < count; i++) {
                News news = ends.get(rank).next();
                assertThat(news.rank()).isZero();
                assertThat(ByteBuffer.wrap(news.bytes()).getInt()).isEqualTo(-(rank * 1_000_000 + i));
            }
        }
    }

    @Test
    void aMessageIsTakenBetweenItsPositionAndLimitAndMayBeSharedAsDuplicates() throws Exception {
        List<End> ends = ends(3);
        ByteBuffer message =
                ByteBuffer.wrap(new byte[] {9, 1, 2, 3, 9}).position(1).limit(4);
        End zero = ends.get(0);
        zero.tasks.add(() -> {
            zero.control.send(1, message.duplicate());
            zero.control.send(2, message.duplicate());
        });
        zero.control.wakeUp();
        assertThat(ends.get(1).next().bytes()).containsExactly(1, 2, 3);
        assertThat(ends.get(2).next().bytes()).containsExactly(1, 2, 3);
    }

    @Test
    void aWakeUpFromAnotherThreadEndsAWaitWithoutLimit() throws Exception {
        List<SocketControl> controls = Star.connect(2);
        controls.forEach(control -> open.add(new End(control)));
        // The ends' own threads are left alone: this is about a channel whose thread is in receive().
        SocketControl alone = Star.connect(1).get(0);
        for (int round = 0; round < 200; round++) {
            CompletableFuture<Void> returned = CompletableFuture.runAsync(
                    () -> alone.receive(Long.MAX_VALUE, open.get(0)), task -> new Thread(task).start());
            alone.wakeUp();
            returned.get(20, TimeUnit.SECONDS);
        }
        alone.close();
        assertThat(open.get(0).news).isEmpty();
    }

    @Test
    void waitsNoLongerThanAskedAlsoWhenThatIsLessThanAMillisecond() {
        ManualClock clock = new ManualClock();
        SocketControl alone = Star.alone(clock);
        for (long nanos : new long[] {0, 1_000, 20_000, 200_000, 999_999}) {
            clock.naps.clear();
            alone.receive(nanos, null);
            assertThat(clock.slept()).isEqualTo(nanos);
        }
        alone.close();
    }

    @Test
    void aWakeUpFromAnotherThreadEndsAShortWait() throws Exception {
        SocketControl alone = Star.alone(new SelectorWait.Clock() {
            @Override
            public long nanoTime() {
                return 0; // the time is never over
            }

            @Override
            public void park(long nanos) {
                LockSupport.park(); // until somebody comes
            }
        });
        for (int round = 0; round < 200; round++) {
            CompletableFuture<Void> returned =
                    CompletableFuture.runAsync(() -> alone.receive(20_000, null), task -> new Thread(task).start());
            alone.wakeUp();
            returned.get(20, TimeUnit.SECONDS);
        }
        alone.close();
    }

    @Test
    void messagesAreHeardByWhoOnlyEverWaitsForAMoment() throws Exception {
        List<SocketControl> controls = Star.connect(2);
        open.add(new End(controls.get(1)));
        List<Integer> sizes = new ArrayList<>();
        for (int size : new int[] {0, 100, 5_000_011}) {
            open.get(0).send(0, pattern(1, 0, size));
            while (!sizes.contains(size)) {
                controls.get(0).receive(20_000, new ControlChannel.Inbox() {
                    @Override
                    public void message(int fromRank, ByteBuffer message) {
                        sizes.add(message.remaining());
                    }

                    @Override
                    public void lost(int rank, String why) {
                        throw new AssertionError(why);
                    }
                });
            }
        }
        controls.get(0).close();
    }

    @Test
    void anEndThatHangsUpIsReportedOnceAndTheOthersGoOn() throws Exception {
        List<End> ends = ends(3);
        ends.get(1).send(0, pattern(1, 0, 10));
        assertThat(ends.get(0).next().rank()).isEqualTo(1);
        ends.get(1).close();
        News lost = ends.get(0).next();
        assertThat(lost.rank()).isEqualTo(1);
        assertThat(lost.lost()).isNotBlank();

        ends.get(0).send(1, pattern(0, 1, 10));
        for (int i = 0; i < 50; i++) {
            ends.get(2).send(0, pattern(2, 0, i));
            News news = ends.get(0).next();
            assertThat(news.lost()).as("no second report").isNull();
            assertThat(news.bytes()).isEqualTo(pattern(2, 0, i));
        }
        open.remove(1);
    }

    @Test
    void whatWasSentBeforeHangingUpStillArrivesFirst() throws Exception {
        List<End> ends = ends(2);
        ends.get(0).send(1, pattern(0, 1, 3000));
        End zero = open.get(0);
        zero.close();
        open.remove(zero);
        assertThat(open.get(0).next().bytes()).isEqualTo(pattern(0, 1, 3000));
        assertThat(open.get(0).next().lost()).isNotBlank();
    }

    @Test
    void saysWhetherEverythingIsOnItsWayAndForgetsWhatWasMeantForALostOne() throws Exception {
        List<SocketControl> controls = Star.connect(2);
        SocketControl zero = controls.get(0);
        assertThat(zero.isFlushed()).isTrue();
        zero.send(1, ByteBuffer.allocate(100_000_000));
        assertThat(zero.isFlushed()).as("nobody reads at the other end").isFalse();
        controls.get(1).close();
        List<Integer> lost = new ArrayList<>();
        while (lost.isEmpty()) {
            zero.receive(Long.MAX_VALUE, new ControlChannel.Inbox() {
                @Override
                public void message(int fromRank, ByteBuffer message) {}

                @Override
                public void lost(int rank, String why) {
                    lost.add(rank);
                }
            });
        }
        assertThat(lost).containsExactly(1);
        assertThat(zero.isFlushed()).isTrue();
        zero.close();
    }

    @Test
    void severalStarsAreConnectedTogetherAndCarryTheirOwnMessages() throws Exception {
        List<Integer> invitations = new ArrayList<>();
        for (List<SocketControl> rank : Star.several(3, 2, meeting -> invitations.add(meeting.length))) {
            rank.forEach(control -> open.add(new End(control)));
        }
        assertThat(invitations).as("one for both stars").hasSize(1);
        for (int star = 0; star < 2; star++) {
            for (int rank = 1; rank < 3; rank++) {
                open.get(2 * rank + star).send(0, pattern(rank, 0, 100 + star));
                News news = open.get(star).next();
                assertThat(news.rank()).isEqualTo(rank);
                assertThat(news.bytes()).isEqualTo(pattern(rank, 0, 100 + star));
                open.get(star).send(rank, pattern(0, rank, 200 + star));
                assertThat(open.get(2 * rank + star).next().bytes()).isEqualTo(pattern(0, rank, 200 + star));
            }
        }
    }

    @Test
    void rankZeroLostIsNoticedByEveryOtherRank() throws Exception {
        List<End> ends = ends(3);
        End zero = ends.get(0);
        zero.close();
        open.remove(zero);
        for (End other : open) {
            News news = other.next();
            assertThat(news.rank()).isZero();
            assertThat(news.lost()).isNotBlank();
        }
    }

    /** Connects as somebody who has heard the address but not the secret. */
    private static Socket dial(byte[] meeting) {
        var address = Invitation.decode(meeting).address();
        try {
            return new Socket(address.getAddress(), address.getPort());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Connects as the rank that it says it is. */
    private static CompletableFuture<FramedConnection> dial(Invitation invitation, byte[] secret, int rank) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                return FramedConnection.dial(invitation.address(), secret, rank, 20_000);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    @Test
    void aStrangerWithoutTheSecretIsNotLetInThoughItNamesARank() throws Exception {
        List<CompletableFuture<FramedConnection>> strangers = new ArrayList<>();
        Star.connect(2, meeting -> strangers.add(dial(Invitation.decode(meeting), HandshakeListener.newSecret(), 1)))
                .forEach(control -> open.add(new End(control)));
        assertThat(strangers.get(0)).failsWithin(Duration.ofSeconds(20));
        open.get(1).send(0, pattern(1, 0, 100));
        assertThat(open.get(0).next().bytes()).isEqualTo(pattern(1, 0, 100));
    }

    /** One after the other they would hold it up for longer than {@link Star#connect} waits. */
    @Test
    void strangersThatSayNothingDoNotHoldUpTheStart() throws Exception {
        List<Socket> strangers = new ArrayList<>();
        Star.connect(2, meeting -> IntStream.range(0, 30).forEach(i -> strangers.add(dial(meeting))))
                .forEach(control -> open.add(new End(control)));

        for (Socket stranger : strangers) {
            stranger.close();
        }
    }

    @Test
    void whoAnnouncesMoreThanAnyRankSendsIsLostAndTakesNoMemory() throws Exception {
        Topology topology = Topology.of(0, List.of("n", "n"), List.of("h", "h"));
        HvdConfig config = HvdConfig.from(Map.of("HOROVOD_START_TIMEOUT", "20"));
        for (int announced : List.of(Integer.MAX_VALUE, -1, Integer.MIN_VALUE)) {
            List<CompletableFuture<FramedConnection>> rank = new ArrayList<>();
            SocketControl control = SocketControl.connect(topology, config, mine -> {
                Star.meeting(mine)
                        .map(Invitation::decode)
                        .ifPresent(meeting -> rank.add(dial(meeting, meeting.secret(), 1)));
                return List.of(mine, mine);
            });
            End end = new End(control);
            open.add(end);
            FramedConnection other = rank.get(0).join();
            other.wire().write(ByteBuffer.allocate(8).putInt(0, announced));

            assertThat(end.next().lost()).contains("announced a message of " + announced + " bytes");
            other.close();
        }
    }

    @Test
    void strangersThatHangUpOrResetDoNotDisturbTheStart() throws Exception {
        Star.connect(3, meeting -> {
                    try {
                        dial(meeting).close();
                        Socket rude = dial(meeting);
                        rude.getOutputStream().write(new byte[3]);
                        rude.setSoLinger(true, 0); // close() resets the connection
                        rude.close();
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                })
                .forEach(control -> open.add(new End(control)));
        for (int rank = 1; rank < 3; rank++) {
            open.get(rank).send(0, pattern(rank, 0, 5));
            News news = open.get(0).next();
            assertThat(news.rank()).isEqualTo(rank);
            assertThat(news.bytes()).isEqualTo(pattern(rank, 0, 5));
        }
    }

    /** A route or a rule of the network may come late; the time that was promised counts, and not the first attempt. */
    @Test
    void aRankThatIsRefusedTriesAgainUntilRankZeroAnswers() throws Exception {
        InetSocketAddress address;
        byte[] secret = HandshakeListener.newSecret();
        try (ServerSocketChannel found = HandshakeListener.bind(InetAddress.getLoopbackAddress(), PortRange.ANY)) {
            address = (InetSocketAddress) found.getLocalAddress();
        }
        CompletableFuture<Integer> connected = new CompletableFuture<>();
        Thread rank = new Thread(() -> {
            try (var connector =
                    new StarConnector(Star.topology(1, 2), HvdConfig.from(Map.of("HOROVOD_START_TIMEOUT", "60")), 1)) {
                connector.invite();
                connector.connect(
                        new Invitation(address, secret).encode(),
                        (star, number, connection) -> connected.complete(number));
            } catch (Throwable e) {
                connected.completeExceptionally(e);
            }
        });
        rank.start();
        while (rank.getState() != Thread.State.TIMED_WAITING && rank.isAlive()) {
            Thread.onSpinWait(); // until it has been refused and pauses
        }
        try (ServerSocketChannel late = ServerSocketChannel.open().bind(address);
                HandshakeListener listener = new HandshakeListener(List.of(late))) {
            assertThat(listener.next(secret, TimeUnit.SECONDS.toNanos(30))).isPresent();
        }
        assertThat(connected.get(30, TimeUnit.SECONDS)).isZero();
    }

    @Test
    void ranksThatDoNotComeAreNamedWithTheirHostsAndTheKnobs() {
        Topology topology = Topology.of(0, List.of("n", "n", "n"), List.of("alpha", "beta", "gamma"));
        HvdConfig config = HvdConfig.from(Map.of("HOROVOD_START_TIMEOUT", "1"));
        assertThatThrownBy(() -> SocketControl.connect(topology, config, mine -> List.of(mine, mine, mine)))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.INIT_FAILED))
                .hasMessageContainingAll(
                        "rank 0", "[1, 2]", "beta", "gamma", "--start-timeout", "HOROVOD_START_TIMEOUT");
    }

    @Test
    void ifRankZeroHasNoInterfaceToListenOnTheOthersHearOfItInsteadOfWaiting() {
        List<String> hosts = List.of("alpha", "beta");
        HvdConfig config = HvdConfig.from(Map.of("HOROVOD_GLOO_IFACE", "none0"));
        Exchange exchange = new Exchange(2);
        List<CompletableFuture<SocketControl>> ends = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            int rank = i;
            ends.add(CompletableFuture.supplyAsync(
                    () -> SocketControl.connect(Topology.of(rank, hosts, hosts), config, exchange.of(rank)),
                    task -> new Thread(task, "connect-" + rank).start()));
        }
        for (CompletableFuture<SocketControl> end : ends) {
            assertThat(end)
                    .failsWithin(Duration.ofSeconds(20))
                    .withThrowableOfType(ExecutionException.class)
                    .withCauseInstanceOf(HvdException.class)
                    .withMessageContaining("[HVD-102] rank 0 (alpha) could not open its control plane")
                    .withMessageContaining("no usable network interface named none0");
        }
    }
}
