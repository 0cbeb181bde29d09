package io.hvd.launch.failure;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The lines are those of MPICH 4.0.2. */
final class HydraWordsTest {

    private static final String BAD_TERMINATION = """

            ===================================================================================
            =   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
            =   PID 4242 RUNNING AT b
            =   EXIT CODE: 9
            =   CLEANING UP REMAINING PROCESSES
            =   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
            ===================================================================================
            """;
    private static final String KILLED =
            BAD_TERMINATION + "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n";
    private static final String ABORT = "application called MPI_Abort(MPI_COMM_WORLD, 42) - process 2\n";

    @Test
    void theRankOfAKilledProcessIsFoundByItsNumber() {
        ObservedFailure seen = seen(KILLED, 3);

        assertThat(seen).isEqualTo(new ObservedFailure(3, "b", 137, "rank 3 on b, pid 4242, was ended by signal 9"));
        assertThat(seen.isMpirun()).isFalse();
    }

    @Test
    void aProcessThatHasNotJoinedIsNamedByItsNumber() {
        ObservedFailure seen = seen(KILLED, ObservedFailure.UNKNOWN_RANK);

        assertThat(seen.words())
                .isEqualTo("a process that had not joined the job on b, pid 4242, was ended by signal 9");
        assertThat(seen.isMpirun()).isFalse();
    }

    @Test
    void withoutASignalTheCodeIsAnExitCode() {
        assertThat(seen(BAD_TERMINATION, 3).words()).isEqualTo("rank 3 on b, pid 4242, ended with exit code 9");
    }

    @Test
    void whoAbortsIsTheFirstUnlessAnotherWasKilled() {
        assertThat(seen(ABORT + BAD_TERMINATION, 3).words()).isEqualTo("rank 2 ended the job with exit code 42");
        assertThat(seen("[2] " + ABORT, 3).rank()).isEqualTo(2);
        assertThat(seen(ABORT + KILLED, 3).rank()).isEqualTo(3);
    }

    @Test
    void ofSeveralHostsTheFirstCounts() {
        assertThat(seen(KILLED + KILLED.replace("4242", "1").replace("AT b", "AT c"), 3)
                        .host())
                .isEqualTo("b");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "=   EXIT CODE: 9\n",
                "epoch 3, PID 3 RUNNING AT b\n",
                "=   PID 99999999999999999999 RUNNING AT b\n=   EXIT CODE: 9\n",
                "=   PID 7 RUNNING AT b\n",
                "application called MPI_Abort(x, 99999999999) - process 1\n"
            })
    void whatRanksSayIsNotTakenForIt(String said) {
        assertThat(words(said).firstFailure((host, pid) -> 0)).isEmpty();
    }

    private static ObservedFailure seen(String said, int rank) {
        return words(said)
                .firstFailure((host, pid) -> host.equals("b") && pid == 4242 ? rank : 99)
                .orElseThrow();
    }

    private static HydraWords words(String said) {
        var words = new HydraWords();
        said.lines().forEach(words::accept);
        return words;
    }
}
