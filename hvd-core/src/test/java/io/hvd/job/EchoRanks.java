package io.hvd.job;

import io.hvd.backend.ProcessProvider;
import io.hvd.echo.EchoHub;
import io.hvd.echo.EchoProvider;
import io.hvd.job.failure.ThrowToProgram;
import io.hvd.monitor.peers.Peers;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Ranks as threads of this JVM that are connected as processes are, by a transport of the tests. */
public final class EchoRanks {
    private EchoRanks() {}

    /** @return the results, by rank */
    public static <R> List<R> run(
            int size, List<List<Integer>> processSets, Map<String, String> settings, RankProgram<R> program) {
        return new RankThreads(size, new EchoJob(size, processSets, JobSettings.only(settings)), new SpawnFailures())
                .run(program);
    }

    private static final class EchoJob implements SpawnedJob {
        private static final long TELL_MILLIS = 300;

        private final List<List<Integer>> processSets;
        private final JobSettings settings;
        private final EchoHub hub;
        private final List<ProcessProvider> providers;
        private final List<Peers> monitors;

        EchoJob(int size, List<List<Integer>> processSets, JobSettings settings) {
            this.processSets = processSets;
            this.settings = settings;
            this.hub = new EchoHub(size);
            this.providers = IntStream.range(0, size)
                    .mapToObj(rank -> new ProcessProvider(new EchoProvider(hub, rank)))
                    .toList();
            this.monitors = Peers.ofThreads(size, "this JVM");
        }

        @Override
        public Membership join(int thread) {
            JoinRequest request = new JoinRequest(
                    providers.get(thread), settings, backend -> monitors.get(thread), ThrowToProgram.ofProcess());
            return request.join(List.of(), processSets, StartupHooks.over());
        }

        @Override
        public void refused(int thread, Throwable cause) {
            hub.abandon("rank " + thread + " could not join: " + cause);
        }

        @Override
        public void begin(Membership membership) {
            // there is no other process to tell
        }

        @Override
        public void leave(Membership membership) {
            membership.close(false);
        }

        @Override
        public void failed(int thread, Membership membership, Throwable cause) {
            String why = "rank " + thread + " threw " + cause;
            membership.fail(why, TELL_MILLIS);
            hub.abandon(why);
        }

        @Override
        public void cancel(String why) {
            hub.abandon(why);
        }
    }
}
