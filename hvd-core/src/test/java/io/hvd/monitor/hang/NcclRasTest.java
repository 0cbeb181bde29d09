package io.hvd.monitor.hang;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;

/** Questions to a server that stands for NCCL's RAS, and to others that do not answer as it does. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class NcclRasTest {
    private static final Duration LIMIT = Duration.ofSeconds(20);
    private static final Duration SHORT = Duration.ofMillis(300);

    @TempDir
    Path folder;

    @Test
    void theAnswerComesWholeAndWhatIsWrongIsQuoted() throws IOException {
        try (RasServer server = RasServer.answering(RasServer.INCOMPLETE)) {
            RasAnswer answer = server.ras(folder).ask(LIMIT);

            assertThat(server.heard()).containsExactly("CLIENT PROTOCOL 2", "TIMEOUT 2", "VERBOSE STATUS");
            assertThat(answer.isWhole()).isTrue();
            assertThat(answer.address()).isEqualTo("localhost:" + server.port());
            assertThat(answer.lines())
                    .startsWith("NCCL version 2.30.7 compiled with CUDA 13.3")
                    .contains("      1          2            1          2        2")
                    .noneMatch(String::isBlank)
                    .noneMatch(line -> line.contains("==="));
            assertThat(answer.quoted())
                    .startsWith("Errors", "INCOMPLETE", "Missing communicator data from 1 job process")
                    .endsWith("Communicator ranks have different collective operation counts");
            assertThat(answer.findings())
                    .isEqualTo("INCOMPLETE; Missing communicator data from 1 job process;"
                            + " Process 3487984 on node 172.16.64.213 managing GPU 5; ...");
        }
    }

    @Test
    void aJobThatIsSoundToNcclIsQuotedByItsCommunicatorsAndHasNoFindings() throws IOException {
        String sound = RasServer.INCOMPLETE.substring(0, RasServer.INCOMPLETE.indexOf("Errors\n====="));
        try (RasServer server = RasServer.answering(sound)) {
            RasAnswer answer = server.ras(folder).ask(LIMIT);

            assertThat(answer.quoted()).hasSize(4).first().isEqualTo("Communicators... (2.00s)");
            assertThat(answer.findings()).isEmpty();
        }
    }

    @Test
    void aServerThatStopsHalfwayIsLeftAtTheLimitAndWhatItHasSaidIsKept() throws IOException {
        CountDownLatch over = new CountDownLatch(1);
        try (RasServer server = RasServer.with((in, out) -> {
            in.readLine();
            RasServer.say(out, "SERVER PROTOCOL 2\n");
            in.readLine();
            RasServer.say(out, "OK\n");
            in.readLine();
            RasServer.say(out, "NCCL version 2.30.7\nCommunicators...");
            over.await(30, TimeUnit.SECONDS);
        })) {
            RasAnswer answer = server.ras(folder).ask(Duration.ofSeconds(2));

            assertThat(answer.lines()).containsExactly("NCCL version 2.30.7");
            assertThat(answer.isWhole()).isFalse();
        } finally {
            over.countDown();
        }
    }

    @Test
    void aServerThatSaysNothingHoldsNobodyUp() throws IOException {
        CountDownLatch over = new CountDownLatch(1);
        try (RasServer server = RasServer.with((in, out) -> over.await(30, TimeUnit.SECONDS))) {
            assertThat(server.ras(folder).ask(SHORT).isEmpty()).isTrue();
        } finally {
            over.countDown();
        }
    }

    /** It sends a byte now and then, so that no single wait for one is too long. */
    @Test
    void aServerThatTricklesIsLeftAtTheLimit() throws IOException {
        try (RasServer server = RasServer.with((in, out) -> {
            while (true) {
                RasServer.say(out, "S");
                TimeUnit.MILLISECONDS.sleep(20);
            }
        })) {
            assertThat(server.ras(folder).ask(SHORT).isEmpty()).isTrue();
        }
    }

    @Test
    void aFloodIsCutOffInItsLengthAndInItsLines() throws IOException {
        try (RasServer server = RasServer.answering("x".repeat(5000) + "\n" + "line\u0007\n".repeat(100_000))) {
            RasAnswer answer = server.ras(folder).ask(LIMIT);

            assertThat(answer.isWhole()).isFalse();
            assertThat(answer.lines()).hasSizeBetween(1000, 20_000);
            assertThat(answer.lines().get(0)).hasSize(300);
            assertThat(answer.lines().get(1)).isEqualTo("line");
            assertThat(answer.quoted()).hasSize(12);
        }
    }

    @Test
    void anotherProgramOnThatPortIsNotQuoted() throws IOException {
        try (RasServer server = RasServer.with((in, out) -> {
            in.readLine();
            RasServer.say(out, "HTTP/1.1 400 Bad Request\n\nErrors\n");
        })) {
            assertThat(server.ras(folder).ask(LIMIT).isEmpty()).isTrue();
        }
    }

    @Test
    void whereNobodyListensThereIsNoAnswer() throws IOException {
        NcclRas gone;
        try (RasServer server = RasServer.answering(RasServer.INCOMPLETE)) {
            gone = server.ras(folder);
        }
        assertThat(gone.ask(LIMIT).isEmpty()).isTrue();
    }

    /** A server that answers there belongs to another job of this host. */
    @Test
    void aProcessThatHasNotLoadedNcclDoesNotAsk() throws IOException {
        try (RasServer server = RasServer.answering(RasServer.INCOMPLETE)) {
            Path maps = Files.writeString(folder.resolve("plain"), "7f00-7f01 r-xp 0 08:01 42 /usr/lib/libc.so.6\n");
            assertThat(new NcclRas("localhost", server.port(), maps).ask(LIMIT).isEmpty())
                    .isTrue();
            assertThat(server.heard()).isEmpty();
        }
    }

    @Test
    void theAddressIsNcclsOwnAndEitherSettingSwitchesTheQuestionOff() {
        assertThat(place(Map.of())).isEqualTo("localhost:28028");
        assertThat(place(Map.of("NCCL_RAS_ADDR", "node7:29000"))).isEqualTo("node7:29000");
        assertThat(place(Map.of("NCCL_RAS_ADDR", "[::1]:29000"))).isEqualTo("::1:29000");
        assertThat(NcclRas.of(true, Map.of("NCCL_RAS_ENABLE", "0"))).isEqualTo(NcclRas.OFF);
        assertThat(NcclRas.of(false, Map.of())).isEqualTo(NcclRas.OFF);
        for (String bad : List.of("node7", "node7:", ":29000", "node7:port")) {
            assertThat(NcclRas.of(true, Map.of("NCCL_RAS_ADDR", bad))).isEqualTo(NcclRas.OFF);
        }
        assertThat(NcclRas.OFF.ask(LIMIT).isEmpty()).isTrue();
    }

    private static String place(Map<String, String> environment) {
        NcclRas ras = NcclRas.of(true, environment);
        return ras.host() + ":" + ras.port();
    }
}
