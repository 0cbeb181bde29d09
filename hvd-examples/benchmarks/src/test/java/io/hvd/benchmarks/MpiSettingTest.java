package io.hvd.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class MpiSettingTest {
    @ParameterizedTest
    @EnumSource
    void overANetworkEachLaunchTriesSomethingElse(Collective collective) {
        assertThat(MpiSetting.NETWORK.stream().map(setting -> setting.name(collective)))
                .startsWith("default")
                .doesNotHaveDuplicates();
        assertThat(MpiSetting.NETWORK.stream().skip(1))
                .allMatch(setting ->
                        setting.component().isPresent() || setting.arguments().contains(collective.parameter()));
    }

    @Test
    void theNewestComponentsAreTriedOnOneHostWithFewAndWithManySettings() {
        for (List<MpiSetting> settings : List.of(MpiSetting.FEW, MpiSetting.ALL)) {
            assertThat(settings.stream().filter(setting -> setting.component().isPresent()))
                    .extracting(setting -> String.join(" ", setting.arguments()))
                    .containsExactly("--mca coll_xhc_priority 100", "--mca coll_acoll_priority 100");
        }
        assertThat(MpiSetting.ALL).extracting(MpiSetting::name).doesNotHaveDuplicates();
    }

    @Test
    void anAlgorithmOfTunedIsNotLeftToAComponentThatOpenMpiPrefers() {
        assertThat(MpiSetting.ALL.stream()
                        .map(setting -> String.join(" ", setting.arguments()))
                        .filter(words -> words.contains("coll_tuned_allreduce_algorithm")))
                .hasSize(5)
                .allMatch(words -> words.contains("--mca coll_tuned_priority 100"));
    }

    @Test
    void aNameSaysWhatIsSet() {
        MpiSetting setting = MpiSetting.NETWORK.get(1);

        assertThat(setting.name(Collective.BROADCAST)).isEqualTo("pipeline-128k");
        assertThat(String.join(" ", setting.arguments()))
                .startsWith("--mca coll_tuned_use_dynamic_rules 1 ")
                .contains("--mca coll_tuned_bcast_algorithm 3 --mca coll_tuned_bcast_algorithm_segmentsize 131072");
    }
}
