package io.hvd.job;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig;
import io.hvd.error.HvdException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class BackendSelectionTest {
    /** As PRRTE's prun starts it: each process would train by itself, and nobody would see it. */
    @Test
    void aRankThatDoesNotKnowHowManyThereAreIsNoJobOfItsOwn() {
        HvdConfig config = HvdConfig.from(Map.of("HVD_BACKEND", "tcp", "PMIX_RANK", "1"));

        assertThatThrownBy(() -> BackendSelection.choose(config, 0).open(config, List.of()))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("both its rank and how many ranks there are")
                .hasMessageContaining("HOROVOD_SIZE");
    }

    @Test
    void withoutALauncherAProcessIsAloneThoughTcpIsAskedFor() {
        assertThat(BackendSelection.choose(HvdConfig.from(Map.of("HVD_BACKEND", "tcp")), 0)
                        .name())
                .isEqualTo("local");
    }
}
