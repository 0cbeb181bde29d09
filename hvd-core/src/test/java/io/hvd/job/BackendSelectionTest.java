package io.hvd.job;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig;
import io.hvd.error.HvdException;
import java.util.HashMap;
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

    /** As mpirun starts it on a host without mpi.jar, where TCP would connect the ranks if nothing was asked for. */
    @Test
    void mpiThatIsAskedForInHorovodsWordsIsRefusedWhereItIsMissing() {
        Map<String, String> mpirun = new HashMap<>(Map.of(
                "HVD_OPENMPI_HOME", "/nonexistent",
                "OMPI_COMM_WORLD_RANK", "0",
                "OMPI_COMM_WORLD_SIZE", "2",
                "HVD_RENDEZVOUS", "127.0.0.1:4711"));
        assertThat(BackendSelection.betweenProcesses(HvdConfig.from(mpirun)).name())
                .isEqualTo("tcp");
        for (String name : List.of("HOROVOD_CONTROLLER", "HOROVOD_CPU_OPERATIONS")) {
            Map<String, String> asked = new HashMap<>(mpirun);
            asked.put(name, "mpi");
            assertThatThrownBy(() -> BackendSelection.choose(HvdConfig.from(asked), 0))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("HVD-104", "/nonexistent", "leave out " + name + "=mpi");
        }
    }

    @Test
    void mpiThatIsAskedForInHorovodsWordsIsRefusedWhereNoLauncherOfMpisHasStartedTheRanks() {
        HvdConfig config = HvdConfig.from(Map.of(
                "HOROVOD_CONTROLLER", "mpi",
                "HVD_RENDEZVOUS", "127.0.0.1:4711",
                "HOROVOD_RANK", "0",
                "HOROVOD_SIZE", "2"));

        assertThatThrownBy(() -> BackendSelection.choose(config, 0))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("HOROVOD_CONTROLLER=mpi asks for MPI", "start the ranks with mpirun");
    }

    @Test
    void withoutALauncherAProcessIsAloneThoughTcpIsAskedFor() {
        assertThat(BackendSelection.choose(HvdConfig.from(Map.of("HVD_BACKEND", "tcp")), 0)
                        .name())
                .isEqualTo("local");
    }
}
