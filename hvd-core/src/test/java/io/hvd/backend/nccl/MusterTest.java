package io.hvd.backend.nccl;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.List;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.Test;

class MusterTest {
    private static RankCard card(List<String> gpus, String ways) {
        return new RankCard("machine", gpus, "2.18.5", "", "", ways, "");
    }

    private static void refused(ErrorId id, RankCard first, RankCard second, String... words) {
        Muster muster = new Muster(List.of(first, second), List.of("alpha", "beta"));
        assertThatThrownBy(() -> muster.requireSound(false))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> Assertions.assertThat(e.id()).isEqualTo(id))
                .hasMessageContainingAll(words);
    }

    @Test
    void differentWaysAcrossNodesAreNamedBeforeAnybodyMakesACommunicator() {
        refused(
                ErrorId.DIFFERENT_SETTINGS,
                card(List.of("a"), "FLAT"),
                card(List.of("b"), "BY_NCCL"),
                "HOROVOD_TORUS_ALLREDUCE",
                "FLAT on ranks [0]",
                "BY_NCCL on ranks [1]");
    }

    @Test
    void differentNumbersOfGpusAreNamedWithTheirRanks() {
        refused(
                ErrorId.NO_DEVICE,
                card(List.of("a", "b"), "FLAT"),
                card(List.of("c"), "FLAT"),
                "1 on ranks [1]",
                "2 on ranks [0]",
                "HVD_GPUS_PER_RANK");
    }
}
