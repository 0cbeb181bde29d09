package io.hvd;

import io.hvd.config.HvdConfig;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Ranks as threads of one JVM, each bound to its own context. */
final class RankThreads {
    /** Small enough that the stages of a few ranks stay in cache together. */
    private static final int STAGE_BYTES = 1 << 18;

    private static final long JOIN_MILLIS = 50;
    private static final long GIVE_UP_NANOS = 2_000_000_000L;

    private final int size;
    private final Crew crew;
    private final boolean dynamicSets;
    private final SpawnFailures failures;
    private long giveUpNanos;

    /** A job of its own. */
    static RankThreads alone(int size, InitOptions options, HvdConfig config) {
        SpawnFailures failures = new SpawnFailures();
        Crew crew = new LocalCrew(size, stageBytes(config), options, config, failures);
        return new RankThreads(size, crew, dynamicSets(options, config), failures);
    }

    /** Together with the other processes that a launcher has started. @param process watches this one */
    static RankThreads launched(int size, InitOptions options, HvdConfig config, JobGuard process) {
        Crew crew = new LaunchedCrew(size, stageBytes(config), options, config, process);
        return new RankThreads(size, crew, dynamicSets(options, config), new SpawnFailures());
    }

    private static int stageBytes(HvdConfig config) {
        return Math.min(STAGE_BYTES, config.stageBytes());
    }

    private static boolean dynamicSets(InitOptions options, HvdConfig config) {
        return config.engine().dynamicProcessSets() || options.dynamicProcessSets();
    }

    /** @param failures told by the crew too */
    private RankThreads(int size, Crew crew, boolean dynamicSets, SpawnFailures failures) {
        this.size = size;
        this.crew = crew;
        this.dynamicSets = dynamicSets;
        this.failures = failures;
    }

    /** The results by thread. */
    <R> List<R> run(RankBody<R> body) {
        List<R> results = new ArrayList<>(Collections.nCopies(size, null));
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            int rank = i;
            Thread thread = new Thread(() -> results.set(rank, runRank(rank, body)), "hvd-rank-" + rank);
            // Waited for all the same, but not for ever if it hangs.
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }
        join(threads);
        if (!failures.isEmpty()) {
            throw failures.first();
        }
        return results;
    }

    private <R> R runRank(int thread, RankBody<R> body) {
        Membership membership;
        try {
            membership = crew.join(thread);
        } catch (Throwable cause) {
            failures.add("rank " + thread, cause);
            crew.refused(thread, cause);
            return null;
        }
        HvdContext context = new HvdContext(membership, dynamicSets);
        Hvd.bind(context);
        try {
            crew.begin(thread, context);
            R result = body.run(context);
            crew.leave(context);
            return result;
        } catch (Throwable cause) {
            // Noted before the others hear of it, because they fail in consequence.
            failures.add("rank " + context.rank(), cause);
            crew.failed(thread, membership, cause);
            return null;
        } finally {
            membership.stopWatching();
            Hvd.bind(null);
        }
    }

    private void join(List<Thread> threads) {
        boolean interrupted = false;
        while (threads.stream().anyMatch(Thread::isAlive) && !isGivenUp(threads)) {
            try {
                for (Thread thread : threads) {
                    thread.join(JOIN_MILLIS);
                }
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** After a hang the threads are interrupted; one that does not care is left behind. */
    private boolean isGivenUp(List<Thread> threads) {
        if (!failures.hung()) {
            return false;
        }
        if (giveUpNanos == 0) {
            threads.forEach(Thread::interrupt);
            giveUpNanos = System.nanoTime() + GIVE_UP_NANOS;
        }
        return System.nanoTime() > giveUpNanos;
    }
}
