package io.hvd.job;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.EngineSettings;
import io.hvd.config.HvdConfig;
import io.hvd.spi.Topology;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MembershipTest {
    /** A share of a host's rank is a multiple of 512 bytes. */
    @ParameterizedTest
    @CsvSource({"a a b b, 2048", "a b c, 1536", "a a b, 1500", "a b b, 1500"})
    void theFusionThresholdIsRoundedUpOnlyWhereAllHostsHaveAsManyRanks(String nodes, long expected) {
        EngineSettings asked =
                HvdConfig.from(Map.of("HOROVOD_FUSION_THRESHOLD", "1500")).engine();
        List<String> hosts = List.of(nodes.split(" "));

        assertThat(Membership.settingsFor(Topology.of(0, hosts, hosts), asked).fusionThresholdBytes())
                .isEqualTo(expected);
    }
}
