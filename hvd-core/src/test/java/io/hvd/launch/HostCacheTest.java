package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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
        cache("from here", NOON).remember(Map.of("a", Set.of("eth0", "lo"), "b", Set.of()));

        assertThat(cache("from here", NOON.plus(Duration.ofMinutes(59))).recent(BOTH))
                .isEqualTo(Map.of("a", Set.of("eth0", "lo"), "b", Set.of()));
        assertThat(cache("from here", NOON.plus(Duration.ofMinutes(60))).recent(BOTH))
                .isEmpty();
        assertThat(cache("from here", NOON.minusSeconds(1)).recent(BOTH)).isEmpty();
    }

    @Test
    void whatWasSeenWithAnotherKeyOrFromAnotherMachineDoesNotCount() {
        cache("from here -p 22", NOON).remember(Map.of("a", Set.of("eth0")));

        assertThat(cache("from here -p 23", NOON).recent(BOTH)).isEmpty();
        assertThat(cache("from here -p 22", NOON).recent(BOTH)).containsOnlyKeys("a");
    }

    @Test
    void moreHostsAreAdded() {
        cache("v", NOON).remember(Map.of("a", Set.of("eth0")));
        cache("v", NOON.plusSeconds(60)).remember(Map.of("b", Set.of("eth1")));

        assertThat(cache("v", NOON.plusSeconds(90)).recent(BOTH)).containsOnlyKeys("a", "b");
    }

    @Test
    void onlyItsOwnerMayReadTheFile() throws IOException {
        cache("v", NOON).remember(Map.of("a", Set.of("eth0")));

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
    void aFileThatSomebodySpoiltIsAsGoodAsNone() throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, "nonsense\n99999999999999999999\ta v\teth0\n\t\t\n");

        assertThat(cache("v", NOON).recent(BOTH)).isEmpty();
        cache("v", NOON).remember(Map.of("a", Set.of("eth0")));
        assertThat(cache("v", NOON).recent(BOTH)).containsOnlyKeys("a");
    }

    @Test
    void whereNothingCanBeWrittenNothingIsRemembered() throws IOException {
        Path blocked = Files.writeString(home.resolve("blocked"), "");
        var cache = new HostCache(blocked.resolve("hvd/hosts"), "v", Clock.fixed(NOON, ZoneOffset.UTC));

        cache.remember(Map.of("a", Set.of("eth0")));

        assertThat(cache.recent(BOTH)).isEmpty();
    }

    private HostCache cache(String view, Instant now) {
        return new HostCache(file, view, Clock.fixed(now, ZoneOffset.UTC));
    }
}
