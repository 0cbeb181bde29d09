package io.hvd.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import io.hvd.testing.Mpirun;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What a rank has sent arrives although it sleeps outside MPI. The small buffer of the sockets makes sure that MPI has the
 * last of a message in its own queue when the call returns; without further calls this job never ends.
 */
@Timeout(400)
class IdleSenderIT {
    @Test
    void messagesInTheQueueOfMpiArriveWhileTheirSenderComputes() {
        List<String> command = Mpirun.command(2);
        command.addAll(List.of("--mca", "btl", "self,tcp"));
        command.addAll(List.of("--mca", "btl_tcp_sndbuf", "16384", "--mca", "btl_tcp_rcvbuf", "65536"));
        command.addAll(Job.program(IdleSenderProgram.class));
        Job job = Job.run(command, Map.of("HVD_SHARED_MEMORY", "0"));

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("has all")).as(job.output()).hasSize(2);
    }
}
