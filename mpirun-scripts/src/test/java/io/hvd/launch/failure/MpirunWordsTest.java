package io.hvd.launch.failure;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class MpirunWordsTest {

    @ParameterizedTest
    @CsvSource({
        "'the job to be terminated.\n\n  Process name: [[26483,1],3]\n  Exit code:    7\n',rank 3 ended with exit code 7",
        "'  Process name: [prterun-node-a-77@1,12]\n  Exit code:    7\n',rank 12 ended with exit code 7",
        "'mpirun noticed that process rank 1 with PID 4242 on node b exited on signal 9 (Killed).\n',"
                + "'rank 1 on b, pid 4242, was ended by signal 9'",
        "'mpirun noticed that process rank 1 with PID 0 on node b exited on signal 9 (Killed).\n',"
                + "'rank 1 on b, was ended by signal 9'",
        "'prterun noticed that process rank 1 with PID 42 on node b exited on\nsignal 9 (Killed).\n',"
                + "'rank 1 on b, pid 42, was ended by signal 9'",
        "'MPI_ABORT was invoked on rank 2 in communicator MPI_COMM_WORLD\nwith errorcode 42.\n',"
                + "rank 2 ended the job with exit code 42",
        "'MPI_ABORT was invoked on rank 2 in communicator MPI_COMM_WORLD\nwith errorcode 1.\n"
                + "mpirun noticed that process rank 1 with PID 42 on node b exited on signal 9 (Killed).\n',"
                + "'rank 1 on b, pid 42, was ended by signal 9'",
        "'  HNP daemon   : [[51,0],0] on node a\n  Remote daemon: [[51,0],2] on node c\n',"
                + "mpirun has lost the connection to host c"
    })
    void theProcessThatMpirunSawFailingIsNamed(String said, String what) {
        var words = new MpirunWords();
        var lines = new OutputLines(words::accept);

        for (byte one : said.getBytes(StandardCharsets.UTF_8)) {
            lines.accept(new byte[] {one, '!'}, 1);
        }

        assertThat(words.firstFailure()).map(ObservedFailure::words).contains(what);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "Exit code:    3\n",
                "epoch 3, loss 0.5\n",
                "mpirun noticed that",
                "Process name: [[1,1],99999999999999999999]\nExit code:    3\n",
                "Process name: [[1,1],2]\nExit code:    99999999999999999999\n",
                "mpirun noticed that process rank 99999999999 with PID 1 on node b exited on signal 9 (Killed).\n",
                "mpirun noticed that process rank 1 with PID 1 on node b exited on signal 99999999999 (x).\n",
                "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\nwith errorcode 99999999999.\n"
            })
    void whatRanksSayIsNotTakenForIt(String said) {
        var words = new MpirunWords();

        byte[] bytes = said.getBytes(StandardCharsets.UTF_8);
        new OutputLines(words::accept).accept(bytes, bytes.length);

        assertThat(words.firstFailure()).isEmpty();
    }
}
