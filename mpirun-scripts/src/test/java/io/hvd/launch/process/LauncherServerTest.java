package io.hvd.launch.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import io.hvd.error.FailureRecord;
import io.hvd.net.Encryption;
import io.hvd.net.FramedConnection;
import io.hvd.net.LauncherAddress;
import io.hvd.net.PortRange;
import io.hvd.net.Upload;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.Inet6Address;
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
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class LauncherServerTest {

    @TempDir
    private Path folder;

    /** A rank that fails has less time to hand in than a JVM takes to load what it needs for the first time. */
    @BeforeAll
    static void loadWhatIsNeeded(@TempDir Path folder) throws IOException {
        var record = new FailureRecord(Instant.now(), 5, "b", 77, "main", "no space", "", false, 1);
        try (LauncherServer server = LauncherServer.openAt(
                folder, true, List.of(InetAddress.getLoopbackAddress()), PortRange.ANY, Encryption.NONE)) {
            server.address().send("result-0", new byte[1], Encryption.NONE);
            send(server, record, Instant.now());
        }
    }

    @Test
    void aRecordThatIsSentLiesInTheFolderAsIfWrittenThere() throws IOException {
        var record = new FailureRecord(Instant.now(), 5, "b", 77, "main", "no space: ü", "at A.b", false, 1);
        try (LauncherServer server = open(false)) {
            server.address().send(FailureRecord.FAILURE, bytes(record.encode()), Encryption.NONE);
        }

        assertThat(FailureRecord.readAll(folder))
                .usingRecursiveFieldByFieldElementComparatorIgnoringFields("time") // a busy machine is a slow way
                .containsExactly(record);
    }

    @Test
    void aStrangerATornRecordAndAnUnknownNameAreNotStored() throws IOException {
        try (LauncherServer server = open(false)) {
            LauncherAddress known = server.address();
            var stranger = new LauncherAddress("0".repeat(32), known.sockets());

            assertThatThrownBy(() -> stranger.send(FailureRecord.FAILURE, bytes("x"), Encryption.NONE))
                    .isInstanceOf(IOException.class);
            assertThatThrownBy(() -> known.send(FailureRecord.FAILURE, bytes("rank=1"), Encryption.NONE))
                    .isInstanceOf(IOException.class);
            assertThatThrownBy(() -> known.send("result-0", bytes("x"), Encryption.NONE))
                    .isInstanceOf(IOException.class);
            assertThatThrownBy(() -> known.send("../../x", bytes("x"), Encryption.NONE))
                    .isInstanceOf(IOException.class);
        }

        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void aRankThatAnnouncesTooMuchIsCutOff() throws IOException {
        try (LauncherServer server = open(true);
                Socket caller = call(server)) {
            greet(server, caller).writeInt(Integer.MAX_VALUE);

            assertThat(caller.getInputStream().read()).isEqualTo(-1);
        }
        for (Upload upload : List.of(
                new Upload(0, "result-1", (1 << 30) + 1),
                new Upload(0, "result-1", -1),
                new Upload(0, FailureRecord.FAILURE, (1 << 18) + 1))) {
            try (LauncherServer server = open(true);
                    Socket caller = call(server)) {
                send(greet(server, caller), upload.encode());

                assertThat(caller.getInputStream().read()).as("" + upload).isEqualTo(-1);
            }
        }
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void strangersThatSayNothingKeepNoRecordOut() throws IOException {
        var record = new FailureRecord(Instant.now(), 5, "b", 77, "main", "no space", "", false, 1);
        List<Socket> strangers = new ArrayList<>();
        try (LauncherServer server = open(false)) {
            for (int i = 0; i < 50; i++) {
                strangers.add(call(server));
                strangers.get(i).getOutputStream().write(new byte[i % 16]);
            }

            server.address().send(FailureRecord.FAILURE, bytes(record.encode()), Encryption.NONE);

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
        try (LauncherServer server = open(false)) {
            for (int i = 0; i < 20; i++) {
                callers.add(call(server));
                greet(server, callers.get(i));
            }
            try (Socket stranger = call(server)) {
                stranger.getOutputStream().write(new byte[24]);
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

    /**
     * A socket whose queue is full says neither yes nor no, as an address that leads to no host. For one of them alone the time
     * would be over that a failing rank has for all.
     */
    @Test
    void addressesThatLeadNowhereCostAFailingRankNoTime() throws IOException {
        var record = new FailureRecord(Instant.now(), 5, "b", 77, "main", "no space", "", false, 1);
        List<SocketChannel> queue = new ArrayList<>();
        try (LauncherServer server = open(false);
                var full = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            for (int i = 0; i < 10; i++) {
                queue.add(SocketChannel.open());
                queue.get(i).configureBlocking(false);
                queue.get(i).connect(full.getLocalSocketAddress());
            }
            List<InetSocketAddress> sockets = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                sockets.add((InetSocketAddress) full.getLocalSocketAddress());
            }
            sockets.addAll(server.address().sockets());

            new LauncherAddress(server.address().token(), sockets)
                    .send(FailureRecord.FAILURE, bytes(record.encode()), Encryption.NONE);
        } finally {
            for (SocketChannel waiting : queue) {
                waiting.close();
            }
        }

        assertThat(FailureRecord.readAll(folder)).hasSize(1);
    }

    @Test
    void whoeverAnswersWithoutBeingTheLauncherIsPassedOver() throws IOException {
        try (LauncherServer server = open(true);
                var other = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            CompletableFuture<Void> hangsUp = CompletableFuture.runAsync(() -> {
                try {
                    other.accept().close();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            List<InetSocketAddress> sockets = new ArrayList<>();
            sockets.add((InetSocketAddress) other.getLocalSocketAddress());
            sockets.addAll(server.address().sockets());

            new LauncherAddress(server.address().token(), sockets).send("result-3", new byte[1000], Encryption.NONE);

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
        try (LauncherServer server = open(false)) {
            send(server, second, now.minus(hour));
            send(server, first, now.plus(hour));
        }

        Duration since = Duration.between(now, Instant.now()).plusSeconds(1);
        List<FailureRecord> records = FailureRecord.readAll(folder);

        assertThat(records).extracting(FailureRecord::rank).containsExactly(1, 2);
        assertThat(records.get(0).time())
                .isBetween(now.minusSeconds(6), now.minusSeconds(5).plus(since));
        assertThat(records.get(1).time())
                .isBetween(now.minusSeconds(2), now.minusSeconds(1).plus(since));
    }

    @Test
    void theServerListensAtTheAddressesOfTheInterfacesOnly() throws IOException {
        assertThatThrownBy(() -> LauncherServer.open(folder, false, "none0", PortRange.ANY, Encryption.NONE))
                .isInstanceOf(IOException.class)
                .hasMessageContainingAll("no address on none0", "HOROVOD_GLOO_IFACE");
        try (LauncherServer server = LauncherServer.open(folder, false, "", PortRange.ANY, Encryption.NONE)) {
            assertThat(server.address().sockets())
                    .allMatch(socket -> !socket.getAddress().isAnyLocalAddress())
                    .allMatch(socket -> !socket.getAddress().isLoopbackAddress());
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
        try (LauncherServer server = open(true)) {
            server.address().send("result-3", new byte[100_000], Encryption.NONE);
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
        try (LauncherServer server = open(true)) {
            server.address().send("result-3", result, Encryption.NONE);
            allocated = allocatedByTheServer();
        }

        assertThat(folder.resolve("result-3")).hasBinaryContent(result);
        assertThat(allocated).isBetween(1L, 4L << 20);
    }

    @Test
    void aResultThatIsCutOffLeavesNothing() throws IOException {
        try (LauncherServer server = open(true)) {
            try (Socket caller = call(server)) {
                var out = greet(server, caller);
                send(out, new Upload(System.currentTimeMillis(), "result-3", 1000).encode());
                send(out, new byte[999]);
                caller.shutdownOutput();
                assertThat(caller.getInputStream().read())
                        .as("no word that it is stored")
                        .isEqualTo(-1);
            }
        }

        assertThat(folder).isEmptyDirectory();
    }

    private static long allocatedByTheServer() {
        var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("hvd-launch-server"))
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

    /** A host's own name of its interface is not one of the host that reads the address. */
    @Test
    void anIpv6AddressIsHandedOnWithoutItsInterface() throws IOException {
        byte[] bytes = InetAddress.getByName("fd00::1").getAddress();
        var known =
                new LauncherAddress("00", List.of(new InetSocketAddress(Inet6Address.getByAddress(null, bytes, 1), 9)));

        assertThat(known.encode()).isEqualTo("00@fd00:0:0:0:0:0:0:1/9");
        assertThat(LauncherAddress.decode(known.encode())).isEqualTo(known);
    }

    private LauncherServer open(boolean takesResults) throws IOException {
        return LauncherServer.openAt(
                folder, takesResults, List.of(InetAddress.getLoopbackAddress()), PortRange.ANY, Encryption.NONE);
    }

    /** As a rank with such a clock does it. */
    private static void send(LauncherServer server, FailureRecord record, Instant clock) throws IOException {
        try (Socket caller = call(server)) {
            var out = greet(server, caller);
            byte[] content = bytes(record.encode());
            send(out, new Upload(clock.toEpochMilli(), FailureRecord.FAILURE, content.length).encode());
            send(out, content);
            assertThat(caller.getInputStream().readNBytes(5)).containsExactly(0, 0, 0, 1, 1);
        }
    }

    private static DataOutputStream greet(LauncherServer server, Socket caller) throws IOException {
        FramedConnection.greet(
                caller.getChannel(), Encryption.NONE, server.address().secret(), 0, 20_000);
        return new DataOutputStream(caller.getOutputStream());
    }

    private static void send(DataOutputStream out, byte[] message) throws IOException {
        out.writeInt(message.length);
        out.write(message);
    }

    private static Socket call(LauncherServer server) throws IOException {
        InetSocketAddress address = server.address().sockets().get(0);
        Socket caller = SocketChannel.open(address).socket();
        caller.setSoTimeout(20_000);
        return caller;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
