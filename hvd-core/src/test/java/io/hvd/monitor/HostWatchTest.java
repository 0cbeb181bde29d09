package io.hvd.monitor;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.monitor.view.RankProcess;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class HostWatchTest {
    private static final long OLD = HostWatch.SILENT_MILLIS;

    private final List<RankProcess> members =
            List.of(member(0, "a"), member(1, "a"), member(2, "b"), member(3, "b"), member(4, "c"));

    @Test
    void aHostIsSilentWhenAllOfItsRanksAre() {
        assertThat(HostWatch.silent(0, members, Map.of(1, 10L, 2, OLD, 3, OLD + 1, 4, 900L)))
                .containsExactly(Map.entry("b", List.of(2, 3)));
    }

    @Test
    void oneRankThatIsHeardSpeaksForItsHost() {
        assertThat(HostWatch.silent(0, members, Map.of(2, OLD, 3, 100L, 4, 100L)))
                .isEmpty();
    }

    @Test
    void whoWasNeverHeardIsNotMissed() {
        assertThat(HostWatch.silent(0, members, Map.of())).isEmpty();
        assertThat(HostWatch.silent(0, members, Map.of(2, OLD))).containsOnlyKeys("b");
    }

    @Test
    void theOwnHostIsNotLookedAt() {
        assertThat(HostWatch.silent(0, members, Map.of(1, OLD, 4, 100L))).isEmpty();
    }

    private static RankProcess member(int rank, String host) {
        return new RankProcess(rank, host, 100 + rank, 1, "machine " + host);
    }
}
