package io.hvd.transport.tcp;

import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Ranks as threads of this JVM that are connected as processes are, by TCP. */
public final class TcpRanks {
    private TcpRanks() {}

    public static List<TcpProvider> providers(int size) {
        return IntStream.range(0, size)
                .mapToObj(rank -> new TcpProvider("", new TcpProcess("hvd-engine-" + rank)))
                .toList();
    }

    /** The variables by which mpirun tells a process of its place. @param job a name that no other job has */
    public static Map<String, String> settings(int rank, int size, String job) {
        return Map.of(
                "HVD_BACKEND", "tcp",
                "OMPI_COMM_WORLD_RANK", String.valueOf(rank),
                "OMPI_COMM_WORLD_SIZE", String.valueOf(size),
                "OMPI_COMM_WORLD_LOCAL_SIZE", String.valueOf(size),
                "PMIX_NAMESPACE", job);
    }
}
