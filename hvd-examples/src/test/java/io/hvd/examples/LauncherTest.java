package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class LauncherTest {
    @Test
    void aloneThereIsNoLauncherAndTheProcessSpeaks() {
        Launcher none = Launcher.of(Map.of("OMPI_COMM_WORLD_RANK", "", "PATH", "/bin"));

        assertThat(none.speaks()).isTrue();
    }

    @Test
    void underMpirunRankZeroSpeaks() {
        assertThat(mpirun(0).speaks()).isTrue();
        assertThat(mpirun(3).speaks()).isFalse();
    }

    /** srun with PMIx gives a process its rank only. */
    @Test
    void underSrunRankZeroSpeaks() {
        assertThat(Launcher.of(Map.of("PMIX_RANK", "0")).speaks()).isTrue();
        assertThat(Launcher.of(Map.of("PMIX_RANK", "1")).speaks()).isFalse();
    }

    @Test
    @Timeout(4)
    void rankZeroLetsNobodySpeakFirst() {
        mpirun(0).letRankZeroSpeakFirst();
        Launcher.of(Map.of()).letRankZeroSpeakFirst();
    }

    private static Launcher mpirun(int rank) {
        return Launcher.of(Map.of("OMPI_COMM_WORLD_RANK", "" + rank));
    }
}
