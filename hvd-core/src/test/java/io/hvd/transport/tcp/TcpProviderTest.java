package io.hvd.transport.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.job.Membership;
import io.hvd.job.TransportRanks;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class TcpProviderTest {
    /** As where one host has no mpi.jar, and another no Open MPI. */
    @Test
    void ranksThatUseTcpForDifferentReasonsTrainTogetherAndSayThatOfRankZero() {
        String job = UUID.randomUUID().toString();
        List<TcpProvider> providers = List.of(
                new TcpProvider("as there is no mpi.jar", new TcpProcess("hvd-engine-0")),
                new TcpProvider("as there is no Open MPI", new TcpProcess("hvd-engine-1")));

        List<String> words = TransportRanks.run(
                providers, List.of(), rank -> TcpRanks.settings(rank, 2, job), why -> {}, Membership::description);

        assertThat(words).hasSize(2).allMatch(one -> one.contains("as there is no mpi.jar"));
    }
}
