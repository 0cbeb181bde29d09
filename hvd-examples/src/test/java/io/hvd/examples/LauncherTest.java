package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class LauncherTest {
    @Test
    void aloneThereIsNoLauncherAndTheProcessSpeaks() {
        Launcher none = Launcher.of(Map.of("OMPI_COMM_WORLD_RANK", "", "PATH", "/bin"));

        assertThat(none.hasStartedOthers()).isFalse();
        assertThat(none.speaks()).isTrue();
    }

    @Test
    void underMpirunRankZeroSpeaks() {
        assertThat(mpirun(0, 4).speaks()).isTrue();
        assertThat(mpirun(3, 4).speaks()).isFalse();
        assertThat(mpirun(3, 4).hasStartedOthers()).isTrue();
    }

    @Test
    void oneRankUnderMpirunHasNoOthers() {
        assertThat(mpirun(0, 1).hasStartedOthers()).isFalse();
    }

    /** srun with PMIx gives a process its rank only. */
    @Test
    void whereTheNumberOfRanksIsNotSaidThereMayBeOthers() {
        Launcher srun = Launcher.of(Map.of("PMIX_RANK", "0"));

        assertThat(srun.speaks()).isTrue();
        assertThat(srun.hasStartedOthers()).isTrue();
    }

    @Test
    @Timeout(2)
    void rankZeroLetsNobodySpeakFirst() {
        mpirun(0, 4).letRankZeroSpeakFirst();
        Launcher.of(Map.of()).letRankZeroSpeakFirst();
    }

    private static Launcher mpirun(int rank, int size) {
        return Launcher.of(Map.of("OMPI_COMM_WORLD_RANK", "" + rank, "OMPI_COMM_WORLD_SIZE", "" + size));
    }
}
