package io.hvd.transport.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.transport.nccl.natives.NcclVariables;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class NcclChoiceTest {
    private static NcclFacts facts(List<String> gpus, String ways) {
        return new NcclFacts("machine", NcclVariables.NONE, "7", gpus, "2.18.5", "", "", ways, "");
    }

    private static void refused(ErrorId id, NcclFacts first, NcclFacts second, String... words) {
        NcclChoice choice = new NcclChoice(List.of(first, second), List.of("alpha", "beta"));
        assertThatThrownBy(() -> choice.requireSound(false))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(id))
                .hasMessageContainingAll(words);
    }

    @Test
    void differentWaysAcrossNodesAreNamedBeforeAnybodyMakesACommunicator() {
        refused(
                ErrorId.DIFFERENT_SETTINGS,
                facts(List.of("a"), "FLAT"),
                facts(List.of("b"), "BY_NCCL"),
                "HOROVOD_TORUS_ALLREDUCE",
                "FLAT on ranks [0]",
                "BY_NCCL on ranks [1]");
    }

    @Test
    void differentNumbersOfGpusAreNamedWithTheirRanks() {
        refused(
                ErrorId.NO_DEVICE,
                facts(List.of("a", "b"), "FLAT"),
                facts(List.of("c"), "FLAT"),
                "1 on ranks [1]",
                "2 on ranks [0]",
                "HVD_GPUS_PER_RANK");
    }

    @Test
    void ranksThatShareAGpuUnderOneHostIdAreRefusedBeforeNcclDoesIt() {
        assertThat(sharing("", ""))
                .get()
                .asString()
                .contains("rank 0 (alpha)", "rank 1 (beta)", "NCCL_HOSTID is not set");
        assertThat(sharing("a", "a")).get().asString().contains("NCCL_HOSTID is \"a\" on both");
        assertThat(sharing("a", "b")).isEmpty();
        assertThat(sharing("", "b")).isEmpty();
    }

    @Test
    void newNcclLetsRanksShareAGpuIfAllOfThemHaveItsVariable() {
        assertThat(multiRank("2.30.7", "1", "1")).isEmpty();
        assertThat(multiRank("2.30.0", "1", "0x2")).isEmpty();
        assertThat(multiRank("3.0.1", "1", "1")).isEmpty();
        assertThat(multiRank("2.30.7", "", ""))
                .get()
                .asString()
                .contains("NCCL_MULTI_RANK_GPU_ENABLE=1, which ranks [0, 1] do not have", "or every rank with its own");
        // NCCL reads a number, and every rank looks at its own variable.
        for (String off : List.of("", "0", "true")) {
            assertThat(multiRank("2.30.7", "1", off)).get().asString().contains("which ranks [1] do not have");
        }
    }

    @Test
    void olderNcclIsNamedIfItIsAskedForWhatItDoesNotKnow() {
        assertThat(multiRank("2.28.3", "1", "1"))
                .get()
                .asString()
                .contains(
                        "NCCL 2.28.3 does not know NCCL_MULTI_RANK_GPU_ENABLE",
                        "needs NCCL 2.30.0 or newer",
                        "NCCL_HOSTID=rank$OMPI_COMM_WORLD_RANK");
        assertThat(multiRank("2.28.3", "", "")).get().asString().doesNotContain("MULTI_RANK");
    }

    private static Optional<String> multiRank(String version, String first, String second) {
        return new NcclChoice(
                        List.of(
                                sharing("machine", new NcclVariables("", first), version, "a"),
                                sharing("machine", new NcclVariables("", second), version, "a")),
                        List.of("alpha", "beta"))
                .obstacle(true);
    }

    /** GPUs of two machines often have the same PCI id. */
    @Test
    void oneHostIdOnTwoMachinesMakesTwoGpusOne() {
        NcclChoice choice = new NcclChoice(
                List.of(sharing("one machine", "same", "65:00"), sharing("another", "same", "65:00")),
                List.of("alpha", "beta"));

        assertThat(choice.obstacle(false)).get().asString().contains("to NCCL", "65:00", "NCCL_HOSTID is \"same\"");
    }

    private static Optional<String> sharing(String first, String second) {
        return new NcclChoice(
                        List.of(sharing("machine", first, "a"), sharing("machine", second, "a")),
                        List.of("alpha", "beta"))
                .obstacle(true);
    }

    private static NcclFacts sharing(String machine, String hostId, String gpu) {
        return sharing(machine, new NcclVariables(hostId, ""), "2.18.5", gpu);
    }

    private static NcclFacts sharing(String machine, NcclVariables variables, String version, String gpu) {
        NcclFacts facts = new NcclFacts(machine, variables, "7", List.of(gpu), version, "", "", "FLAT", "");
        assertThat(NcclFacts.decode(facts.encode())).isEqualTo(facts);
        return facts;
    }
}
