package io.hvd.job;

import io.hvd.backend.ProcessProvider;
import io.hvd.job.failure.ThrowToProgram;
import io.hvd.monitor.peers.Peers;
import io.hvd.spi.TransportProvider;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.IntFunction;

/** Ranks as threads of this JVM that are connected as processes are, by a transport of the tests. */
public final class TransportRanks {
    private TransportRanks() {}

    /**
     * @param providers of each rank
     * @param settings of each rank
     * @param abandon ends the ranks' waits, for a reason
     * @return the results, by rank
     */
    public static <R> List<R> run(
            List<? extends TransportProvider> providers,
            List<List<Integer>> processSets,
            IntFunction<Map<String, String>> settings,
            Consumer<String> abandon,
            RankProgram<R> program) {
        return new RankThreads(
                        providers.size(),
                        new TransportJob(providers, processSets, settings, abandon),
                        new SpawnFailures())
                .run(program);
    }

    private static final class TransportJob implements SpawnedJob {
        private static final long TELL_MILLIS = 300;

        private final List<List<Integer>> processSets;
        private final IntFunction<Map<String, String>> settings;
        private final Consumer<String> abandon;
        private final List<ProcessProvider> providers;
        private final List<Peers> monitors;

        TransportJob(
                List<? extends TransportProvider> providers,
                List<List<Integer>> processSets,
                IntFunction<Map<String, String>> settings,
                Consumer<String> abandon) {
            this.processSets = processSets;
            this.settings = settings;
            this.abandon = abandon;
            this.providers = providers.stream().map(ProcessProvider::new).toList();
            this.monitors = Peers.ofThreads(providers.size(), "this JVM");
        }

        @Override
        public Membership join(int thread) {
            JoinRequest request = new JoinRequest(
                    providers.get(thread),
                    JobSettings.only(settings.apply(thread)),
                    backend -> monitors.get(thread),
                    ThrowToProgram.ofProcess());
            return request.join(List.of(), processSets, StartupHooks.over());
        }

        @Override
        public void refused(int thread, Throwable cause) {
            abandon.accept("rank " + thread + " could not join: " + cause);
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
            abandon.accept(why);
        }

        @Override
        public void cancel(String why) {
            abandon.accept(why);
        }
    }
}
