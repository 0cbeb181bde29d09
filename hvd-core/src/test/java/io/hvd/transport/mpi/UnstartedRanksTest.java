package io.hvd.transport.mpi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import io.hvd.transport.mpi.UnstartedRanks.Found;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

class UnstartedRanksTest {
    private static final Duration LIMIT = Duration.ofSeconds(30);

    private static String sentence(int own, List<Found> found) {
        return UnstartedRanks.sentence(OptionalInt.of(own), found, LIMIT);
    }

    @Test
    void allThatAreLateAreNamed() {
        List<Found> found = List.of(
                new Found(6, 106, false), new Found(4, 104, false), new Found(5, 105, true), new Found(7, 107, true));

        assertThat(sentence(5, found))
                .isEqualTo(
                        "rank 5 has waited for 30 s (HOROVOD_START_TIMEOUT) in MPI_Init, which ends when all ranks have"
                                + " called Hvd.init(); on this host these have not: rank 4 (process 104), rank 6 (process 106)");
    }

    @Test
    void aShellAndItsJavaAreOneRank() {
        List<Found> found = List.of(
                new Found(0, 100, false), new Found(0, 101, true), new Found(1, 110, false), new Found(1, 111, false));

        assertThat(sentence(0, found)).endsWith(" have not: rank 1 (process 111)");
    }

    @Test
    void whereAllRanksOfAHostHaveComeItSaysSo() {
        List<Found> found = List.of(new Found(2, 102, true), new Found(3, 103, true));

        assertThat(sentence(2, found))
                .endsWith("; all 2 ranks of this host have, so MPI waits for another host, or cannot connect them");
    }

    @Test
    void whereNoProcessCanBeReadItSaysSo() {
        assertThat(sentence(0, List.of())).endsWith("cannot be read here, so who is missing is not known");
    }

    @Test
    void anInitThatIsTooLongFailsForThoseWhoWaitAndForItself() {
        CompletableFuture<Object> stuck = new CompletableFuture<>();
        Duration limit = Duration.ofMillis(1);

        assertThatThrownBy(() -> UnstartedRanks.limit(
                        () -> {
                            assertThatThrownBy(stuck::join)
                                    .isInstanceOf(CompletionException.class)
                                    .cause()
                                    .isInstanceOf(HvdException.class)
                                    .hasMessageContaining(" in MPI_Init, which ends when all ranks have called");
                            return "late";
                        },
                        limit,
                        stuck))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("MPI_Init has returned after");
    }

    @Test
    void anInitInTimeIsHandedOn() {
        CompletableFuture<Object> stuck = new CompletableFuture<>();

        assertThat(UnstartedRanks.<String>limit(() -> "done", LIMIT, stuck)).isEqualTo("done");
        assertThat(stuck).isNotDone();
    }
}
