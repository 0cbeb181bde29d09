package io.hvd.transport.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.transport.mpi.UnstartedRanks.Found;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class UnstartedRanksTest {
    private static final Duration LIMIT = Duration.ofSeconds(30);

    @Test
    void theLeastWaitingRankOfAHostNamesAllThatAreLate() {
        List<Found> found = List.of(
                new Found(6, 106, false), new Found(4, 104, false), new Found(5, 105, true), new Found(7, 107, true));

        assertThat(UnstartedRanks.sentence(5, found, LIMIT))
                .contains(
                        "rank 5 has waited for 30 s (HOROVOD_START_TIMEOUT) in MPI_Init, which ends when all ranks have"
                                + " called Hvd.init(); on this host these have not: rank 4 (process 104), rank 6 (process 106)");
        assertThat(UnstartedRanks.sentence(7, found, LIMIT)).isEmpty();
    }

    @Test
    void aShellAndItsJavaAreOneRank() {
        List<Found> found = List.of(
                new Found(0, 100, false), new Found(0, 101, true), new Found(1, 110, false), new Found(1, 111, false));

        assertThat(UnstartedRanks.sentence(0, found, LIMIT).orElseThrow()).endsWith(" have not: rank 1 (process 111)");
    }

    @Test
    void whereAllRanksOfAHostHaveComeItSaysSo() {
        List<Found> found = List.of(new Found(2, 102, true), new Found(3, 103, true));

        assertThat(UnstartedRanks.sentence(2, found, LIMIT).orElseThrow())
                .endsWith("; all 2 ranks of this host have, so MPI waits for another host, or cannot connect them");
    }

    @Test
    void whereNoProcessCanBeReadNothingIsSaid() {
        assertThat(UnstartedRanks.sentence(0, List.of(), LIMIT)).isEmpty();
    }
}
