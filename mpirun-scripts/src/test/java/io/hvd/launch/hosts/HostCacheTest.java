package io.hvd.launch.hosts;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.hvd.file.WholeFileProgram;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class HostCacheTest {

    private static final Instant NOON = Instant.parse("2026-01-01T12:00:00Z");
    private static final Set<String> BOTH = Set.of("a", "b");

    @TempDir
    private Path home;

    private Path file;

    @BeforeEach
    void chooseTheFile() {
        file = HostCache.file(Map.of("HOME", home.toString()));
    }

    @Test
    void whatWasFoundCountsForAnHour() {
        cache("from here", NOON).remember(Map.of("a", Set.of("eth0", "lo"), "b", Set.of()), Map.of());

        assertThat(cache("from here", NOON.plus(Duration.ofMinutes(59))).recent(BOTH))
                .isEqualTo(Map.of("a", Set.of("eth0", "lo"), "b", Set.of()));
        assertThat(cache("from here", NOON.plus(Duration.ofMinutes(60))).recent(BOTH))
                .isEmpty();
        assertThat(cache("from here", NOON.minusSeconds(1)).recent(BOTH)).isEmpty();
    }

    @Test
    void whatWasSeenWithAnotherKeyOrFromAnotherMachineDoesNotCount() {
        cache("from here -p 22", NOON).remember(Map.of("a", Set.of("eth0")), Map.of());

        assertThat(cache("from here -p 23", NOON).recent(BOTH)).isEmpty();
        assertThat(cache("from here -p 22", NOON).recent(BOTH)).containsOnlyKeys("a");
    }

    @Test
    void moreHostsAreAdded() {
        cache("v", NOON).remember(Map.of("a", Set.of("eth0")), Map.of());
        cache("v", NOON.plusSeconds(60)).remember(Map.of("b", Set.of("eth1")), Map.of());

        assertThat(cache("v", NOON.plusSeconds(90)).recent(BOTH)).containsOnlyKeys("a", "b");
    }

    @Test
    void onlyItsOwnerMayReadTheFile() throws IOException {
        cache("v", NOON).remember(Map.of("a", Set.of("eth0")), Map.of());

        assertThat(file).isEqualTo(home.resolve(".cache/hvd/hosts"));
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                .isEqualTo("rw-------");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file.getParent())))
                .isEqualTo("rwx------");
        try (var files = Files.list(file.getParent())) {
            assertThat(files).hasSize(1);
        }
    }

    @Test
    void whatAKilledLauncherHasLeftIsDeletedByTheNextOne() throws IOException {
        Files.createDirectories(file.getParent());
        WholeFileProgram.beginAndBeKilled(file);

        cache("v", NOON).remember(Map.of("a", Set.of("eth0")), Map.of());

        try (var files = Files.list(file.getParent())) {
            assertThat(files).containsExactly(file);
        }
    }

    @Test
    void aFileThatSomebodySpoiltIsAsGoodAsNone() throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, "nonsense\n99999999999999999999\ta v\teth0\n\t\t\n");

        assertThat(cache("v", NOON).recent(BOTH)).isEmpty();
        cache("v", NOON).remember(Map.of("a", Set.of("eth0")), Map.of());
        assertThat(cache("v", NOON).recent(BOTH)).containsOnlyKeys("a");
    }

    @ParameterizedTest
    @ValueSource(strings = {"eth0,", ",eth0", ",", "eth0,,lo", "eth0\tlo", "eth 0", "eth0\0,\0"})
    void aDamagedLineCostsItsHostAndNoOther(String damaged) throws IOException {
        Files.createDirectories(file.getParent());
        long noon = NOON.toEpochMilli();
        Files.writeString(file, noon + "\ta v\t" + damaged + "\n" + noon + "\tb v\teth0,lo\n");

        assertThat(cache("v", NOON).recent(BOTH)).isEqualTo(Map.of("b", Set.of("eth0", "lo")));
        cache("v", NOON).remember(Map.of("a", Set.of("ib0")), Map.of());
        assertThat(cache("v", NOON).recent(BOTH)).isEqualTo(Map.of("a", Set.of("ib0"), "b", Set.of("eth0", "lo")));
    }

    @Test
    void aNameThatStandsTwiceInALineCountsOnce() throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, NOON.toEpochMilli() + "\ta v\teth0,eth0\n");

        assertThat(cache("v", NOON).recent(BOTH)).isEqualTo(Map.of("a", Set.of("eth0")));
    }

    /** Whatever happens to a file on a disk: single bytes, pieces that are missing, pieces that are there twice. */
    @Test
    void noDamageToTheFileIsEverThrown() throws IOException {
        var hosts = Set.of("node1", "node2", "node3");
        cache("v", NOON)
                .remember(
                        Map.of("node1", Set.of("eth0", "lo"), "node2", Set.of(), "node3", Set.of("ib0", "eth1")),
                        Map.of());
        byte[] whole = Files.readAllBytes(file);
        for (int seed = 0; seed < 3_000; seed++) {
            Files.write(file, damaged(whole, new Random(seed)));
            HostCache cache = cache("v", NOON);
            int of = seed;
            assertThatCode(() -> {
                        assertThat(hosts).containsAll(cache.recent(hosts).keySet());
                        cache.remember(Map.of("node2", Set.of("eth0")), Map.of());
                        assertThat(cache.recent(hosts)).containsEntry("node2", Set.of("eth0"));
                    })
                    .as("seed " + of)
                    .doesNotThrowAnyException();
        }
    }

    private static byte[] damaged(byte[] whole, Random random) {
        byte[] bytes = whole.clone();
        int from = random.nextInt(bytes.length);
        int to = from + random.nextInt(bytes.length - from);
        var damaged = new ByteArrayOutputStream();
        switch (random.nextInt(4)) {
            case 0 -> bytes[from] = ",\t\n0\0\u00ff".getBytes(StandardCharsets.ISO_8859_1)[random.nextInt(6)];
            case 1 -> bytes[from] ^= (byte) (1 << random.nextInt(8));
            case 2 -> bytes = Arrays.copyOf(bytes, from);
            default -> damaged.write(bytes, 0, to);
        }
        damaged.write(bytes, Math.min(from, bytes.length), Math.max(0, bytes.length - from));
        damaged.writeBytes(random.nextBoolean() ? bytes : new byte[0]);
        return damaged.toByteArray();
    }

    @Test
    void aFileThatIsFarTooLongIsNotRead() throws IOException {
        Files.createDirectories(file.getParent());
        String line = NOON.toEpochMilli() + "\ta v\teth0\n";
        Files.writeString(file, line + "x".repeat(2 << 20));

        assertThat(cache("v", NOON).recent(BOTH)).isEmpty();
    }

    /** It would be read as two. */
    @Test
    void aNameThatCannotStandInALineIsNotWritten() {
        cache("v", NOON)
                .remember(Map.of("a", Set.of("eth0,lo"), "b", Set.of("eth0\n1"), "c\td", Set.of("eth0")), Map.of());

        assertThat(cache("v", NOON).recent(Set.of("a", "b", "c\td"))).isEmpty();
    }

    @Test
    void whereNothingCanBeWrittenNothingIsRemembered() throws IOException {
        Path blocked = Files.writeString(home.resolve("blocked"), "");
        var cache = new HostCache(blocked.resolve("hvd/hosts"), "v", Clock.fixed(NOON, ZoneOffset.UTC));

        cache.remember(Map.of("a", Set.of("eth0")), Map.of());

        assertThat(cache.recent(BOTH)).isEmpty();
    }

    private HostCache cache(String view, Instant now) {
        return new HostCache(file, view, Clock.fixed(now, ZoneOffset.UTC));
    }

    @Test
    void whatAHostCallsItselfIsRememberedToo() {
        cache("v", NOON).remember(Map.of("a", Set.of("eth0"), "b", Set.of()), Map.of("a", "node-1.cluster"));

        assertThat(cache("v", NOON).hostnames(Set.of("a", "b"))).isEqualTo(Map.of("a", "node-1.cluster"));
        assertThat(cache("v", NOON).recent(Set.of("a", "b"))).hasSize(2);
    }
}
