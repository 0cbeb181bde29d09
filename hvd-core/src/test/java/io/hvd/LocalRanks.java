package io.hvd;

import io.hvd.echo.EchoHub;
import io.hvd.echo.EchoProvider;
import io.hvd.job.RankThreads;
import io.hvd.job.TransportRanks;
import io.hvd.transport.tcp.TcpRanks;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.IntStream;

/** Ranks as threads of this JVM, with a test's own settings instead of the environment. */
public final class LocalRanks {
    private LocalRanks() {}

    /** Like {@link Hvd#spawn(int, InitOptions, RankBody)}. */
    public static <R> List<R> spawn(int size, InitOptions options, Map<String, String> settings, RankBody<R> body) {
        Map<String, String> all = new HashMap<>(Map.of("HVD_REPORT_DIR", reports()));
        all.putAll(settings);
        return RankThreads.alone(size, options.processSets(), all).run(Hvd.onRank(options, body));
    }

    /** The same over a transport of the tests and nothing that threads share, with hvd's own algorithms for all sizes. */
    public static <R> List<R> spawnOverEcho(int size, InitOptions options, RankBody<R> body) {
        Map<String, String> settings =
                Map.of("HVD_REPORT_DIR", reports(), "HVD_SHARED_MEMORY", "0", "HVD_ALLREDUCE_ALGORITHM", "ring");
        EchoHub hub = new EchoHub(size);
        List<EchoProvider> providers = IntStream.range(0, size)
                .mapToObj(rank -> new EchoProvider(hub, rank))
                .toList();
        return TransportRanks.run(
                providers, options.processSets(), rank -> settings, hub::abandon, Hvd.onRank(options, body));
    }

    /**
     * The same over TCP, as processes of one host that mpirun has started without MPI.
     *
     * @param more further settings of all ranks
     */
    public static <R> List<R> spawnOverTcp(int size, InitOptions options, Map<String, String> more, RankBody<R> body) {
        String job = UUID.randomUUID().toString();
        return TransportRanks.run(
                TcpRanks.providers(size),
                options.processSets(),
                rank -> {
                    Map<String, String> settings = new HashMap<>(Map.of("HVD_REPORT_DIR", reports()));
                    settings.putAll(TcpRanks.settings(rank, size, job));
                    settings.putAll(more);
                    return settings;
                },
                why -> {},
                Hvd.onRank(options, body));
    }

    /** Where the build has them, which is no place that is under version control. */
    private static String reports() {
        return System.getenv().getOrDefault("HVD_REPORT_DIR", System.getProperty("java.io.tmpdir"));
    }
}
