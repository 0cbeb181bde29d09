package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import io.hvd.error.FailureRecord;
import io.hvd.net.LauncherAddress;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class FrontDeskTest {

    @TempDir
    private Path folder;

    /** A rank that fails has less time to hand in than a JVM takes to load what it needs for the first time. */
    @BeforeAll
    static void loadWhatIsNeeded(@TempDir Path folder) throws IOException {
        var record = new FailureRecord(Instant.now(), 5, "b", 77, "main", "no space", "", false, 1);
        try (FrontDesk desk = FrontDesk.openAt(folder, true, List.of(InetAddress.getLoopbackAddress()))) {
            desk.address().send("result-0", new byte[1]);
            send(desk, record, Instant.now());
        }
    }

    @Test
    void aRecordThatIsSentLiesInTheFolderAsIfWrittenThere() throws IOException {
        var record = new FailureRecord(Instant.now(), 5, "b", 77, "main", "no space: ü", "at A.b", false, 1);
        try (FrontDesk desk = open(false)) {
            desk.address().send(LauncherAddress.FAILURE, bytes(record.encode()));
        }

        assertThat(FailureRecord.readAll(folder))
                .usingRecursiveFieldByFieldElementComparatorIgnoringFields("time") // a busy machine is a slow way
                .containsExactly(record);
    }

    @Test
    void aStrangerATornRecordAndAnUnknownNameAreNotStored() throws IOException {
        try (FrontDesk desk = open(false)) {
            LauncherAddress known = desk.address();
            var stranger = new LauncherAddress("0".repeat(32), known.doors());

            assertThatThrownBy(() -> stranger.send(LauncherAddress.FAILURE, bytes("x")))
                    .isInstanceOf(IOException.class);
            assertThatThrownBy(() -> known.send(LauncherAddress.FAILURE, bytes("rank=1")))
                    .isInstanceOf(IOException.class);
            assertThatThrownBy(() -> known.send("result-0", bytes("x"))).isInstanceOf(IOException.class);
            assertThatThrownBy(() -> known.send("../../x", bytes("x"))).isInstanceOf(IOException.class);
        }

        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void aRankThatAnnouncesTooMuchIsCutOff() throws IOException {
        try (FrontDesk desk = open(true);
                Socket caller = call(desk)) {
            var out = new DataOutputStream(caller.getOutputStream());
            out.write(HexFormat.of().parseHex(desk.address().token()));
            out.writeLong(System.currentTimeMillis());
            out.writeInt(Integer.MAX_VALUE);

            assertThat(caller.getInputStream().read()).isEqualTo(-1);
        }
    }

    @Test
    void strangersThatSayNothingKeepNoRecordOut() throws IOException {
        var record = new FailureRecord(Instant.now(), 5, "b", 77, "main", "no space", "", false, 1);
        List<Socket> strangers = new ArrayList<>();
        try (FrontDesk desk = open(false)) {
            for (int i = 0; i < 50; i++) {
                strangers.add(call(desk));
                strangers.get(i).getOutputStream().write(new byte[i % 16]);
            }

            desk.address().send(LauncherAddress.FAILURE, bytes(record.encode()));

            for (Socket stranger : strangers) {
                stranger.close();
            }
        }

        assertThat(FailureRecord.readAll(folder))
                .usingRecursiveFieldByFieldElementComparatorIgnoringFields("time") // a busy machine is a slow way
                .containsExactly(record);
    }

    /** More than are served at once; none of them says what it wants. */
    @Test
    void whoeverIsServedOrWaitsForItIsShownOutAtTheEnd() throws IOException {
        List<Socket> callers = new ArrayList<>();
        try (FrontDesk desk = open(false)) {
            for (int i = 0; i < 20; i++) {
                callers.add(call(desk));
                callers.get(i)
                        .getOutputStream()
                        .write(HexFormat.of().parseHex(desk.address().token()));
            }
            try (Socket stranger = call(desk)) {
                stranger.getOutputStream().write(new byte[16]);
                assertThat(stranger.getInputStream().read())
                        .as("now the others are in")
                        .isEqualTo(-1);
            }
        }

        for (Socket caller : callers) {
            try (caller) {
                assertThat(caller.getInputStream().read()).isEqualTo(-1);
            }
        }
    }

    /** A door whose queue is full says neither yes nor no, as an address that leads to no host. */
    @Test
    void addressesThatLeadNowhereCostAFailingRankNoTime() throws IOException {
        var record = new FailureRecord(Instant.now(), 5, "b", 77, "main", "no space", "", false, 1);
        List<SocketChannel> queue = new ArrayList<>();
        try (FrontDesk desk = open(false);
                var full = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            for (int i = 0; i < 10; i++) {
                queue.add(SocketChannel.open());
                queue.get(i).configureBlocking(false);
                queue.get(i).connect(full.getLocalSocketAddress());
            }
            List<InetSocketAddress> doors = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                doors.add((InetSocketAddress) full.getLocalSocketAddress());
            }
            doors.addAll(desk.address().doors());
            long start = System.nanoTime();

            new LauncherAddress(desk.address().token(), doors).send(LauncherAddress.FAILURE, bytes(record.encode()));

            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(2));
        } finally {
            for (SocketChannel waiting : queue) {
                waiting.close();
            }
        }

        assertThat(FailureRecord.readAll(folder)).hasSize(1);
    }

    @Test
    void whoeverAnswersWithoutBeingTheLauncherIsPassedOver() throws IOException {
        try (FrontDesk desk = open(true);
                var other = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            CompletableFuture<Void> hangsUp = CompletableFuture.runAsync(() -> {
                try {
                    other.accept().close();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            List<InetSocketAddress> doors = new ArrayList<>();
            doors.add((InetSocketAddress) other.getLocalSocketAddress());
            doors.addAll(desk.address().doors());

            new LauncherAddress(desk.address().token(), doors).send("result-3", new byte[1000]);

            hangsUp.join();
        }
        assertThat(Files.size(folder.resolve("result-3"))).isEqualTo(1000);
    }

    /** Rank 2's host is an hour behind, rank 1's an hour ahead, and rank 1 was first. */
    @Test
    void failuresOfHostsWhoseClocksAreWrongAreComparedByTheLaunchersClock() throws IOException {
        Instant now = Instant.now();
        Duration hour = Duration.ofHours(1);
        var first = new FailureRecord(now.minusSeconds(5).plus(hour), 1, "a", 7, "main", "no space", "", false, 1);
        var second = new FailureRecord(now.minusSeconds(1).minus(hour), 2, "b", 8, "main", "no space", "", false, 1);
        try (FrontDesk desk = open(false)) {
            send(desk, second, now.minus(hour));
            send(desk, first, now.plus(hour));
        }

        List<FailureRecord> records = FailureRecord.readAll(folder);

        assertThat(records).extracting(FailureRecord::rank).containsExactly(1, 2);
        assertThat(records.get(0).time()).isBetween(now.minusSeconds(6), now.plusSeconds(15));
        assertThat(records.get(1).time()).isBetween(now.minusSeconds(2), now.plusSeconds(19));
    }

    @Test
    void theDeskIsOpenAtTheAddressesOfTheInterfacesOnly() throws IOException {
        try (FrontDesk desk = FrontDesk.open(folder, false, "none0")) {
            assertThat(desk.address().doors()).isEmpty();
        }
        try (FrontDesk desk = FrontDesk.open(folder, false, "")) {
            assertThat(desk.address().doors())
                    .allMatch(door -> !door.getAddress().isAnyLocalAddress())
                    .allMatch(door -> !door.getAddress().isLoopbackAddress());
        }
    }

    @Test
    void theTokenStandsInNoLogAndInNoMessage() throws IOException {
        String token = "00ff".repeat(8);
        var address = new LauncherAddress(token, List.of());

        assertThat(address.toString()).doesNotContain("00ff");
        assertThatThrownBy(() -> LauncherAddress.decode(token + ",x")).message().doesNotContain("00ff");
        assertThatThrownBy(() -> LauncherAddress.decode(token + "@10.1.2.3"))
                .message()
                .doesNotContain("00ff");
    }

    @Test
    void aResultIsStoredWhereOneIsAwaited() throws IOException {
        try (FrontDesk desk = open(true)) {
            desk.address().send("result-3", new byte[100_000]);
        }

        assertThat(Files.size(folder.resolve("result-3"))).isEqualTo(100_000);
    }

    /** Eight may hand in a gibibyte each at the same time, which is more than the launcher's heap. */
    @Test
    void aLargeResultIsWrittenAsItComesAndNotKeptInMemory() throws IOException {
        byte[] result = new byte[64 << 20];
        for (int i = 0; i < result.length; i++) {
            result[i] = (byte) (i + (i >>> 13));
        }
        long allocated;
        try (FrontDesk desk = open(true)) {
            desk.address().send("result-3", result);
            allocated = allocatedByTheDesk();
        }

        assertThat(folder.resolve("result-3")).hasBinaryContent(result);
        assertThat(allocated).isBetween(1L, 4L << 20);
    }

    @Test
    void aResultThatIsCutOffLeavesNothing() throws IOException {
        try (FrontDesk desk = open(true)) {
            try (Socket caller = call(desk)) {
                var out = new DataOutputStream(caller.getOutputStream());
                out.write(HexFormat.of().parseHex(desk.address().token()));
                out.writeLong(System.currentTimeMillis());
                out.writeInt("result-3".length());
                out.writeBytes("result-3");
                out.writeInt(1000);
                out.write(new byte[999]);
                caller.shutdownOutput();
                assertThat(caller.getInputStream().read())
                        .as("no word that it is stored")
                        .isEqualTo(-1);
            }
        }

        assertThat(folder).isEmptyDirectory();
    }

    private static long allocatedByTheDesk() {
        var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("hvd-launch-desk"))
                .mapToLong(thread -> threads.getThreadAllocatedBytes(thread.getId()))
                .sum();
    }

    @Test
    void theAddressSurvivesTheEnvironment() throws IOException {
        var address = new LauncherAddress(
                "00ff",
                List.of(
                        new InetSocketAddress(InetAddress.getByName("10.1.2.3"), 4711),
                        new InetSocketAddress(InetAddress.getByName("fd00::1"), 4712)));

        assertThat(LauncherAddress.decode(address.encode())).isEqualTo(address);
        assertThatThrownBy(() -> LauncherAddress.decode("nonsense")).hasMessageContaining(LauncherAddress.VARIABLE);
    }

    private FrontDesk open(boolean takesResults) throws IOException {
        return FrontDesk.openAt(folder, takesResults, List.of(InetAddress.getLoopbackAddress()));
    }

    /** As a rank with such a clock does it. */
    private static void send(FrontDesk desk, FailureRecord record, Instant clock) throws IOException {
        try (Socket caller = call(desk)) {
            var out = new DataOutputStream(caller.getOutputStream());
            out.write(HexFormat.of().parseHex(desk.address().token()));
            out.writeLong(clock.toEpochMilli());
            for (byte[] field : List.of(bytes(LauncherAddress.FAILURE), bytes(record.encode()))) {
                out.writeInt(field.length);
                out.write(field);
            }
            assertThat(caller.getInputStream().read()).isEqualTo(1);
        }
    }

    private static Socket call(FrontDesk desk) throws IOException {
        InetSocketAddress door = desk.address().doors().get(0);
        Socket caller = new Socket(door.getAddress(), door.getPort());
        caller.setSoTimeout(20_000);
        return caller;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
