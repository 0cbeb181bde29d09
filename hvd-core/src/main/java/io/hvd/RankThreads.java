package io.hvd;

import io.hvd.backend.local.LocalProvider;
import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Ranks as threads of one JVM, each bound to its own context. */
final class RankThreads {
    /** Small enough that the stages of a few ranks stay in cache together. */
    private static final int STAGE_BYTES = 1 << 18;

    private final int size;
    private final InitOptions options;
    private final HvdConfig config;

    RankThreads(int size, InitOptions options, HvdConfig config) {
        if (size < 1) {
            throw new IllegalArgumentException("spawn of " + size + " ranks, expected at least 1");
        }
        this.size = size;
        this.options = options;
        this.config = config;
    }

    <R> List<R> run(RankBody<R> body) {
        List<LocalProvider> team = LocalProvider.team(size, Math.min(STAGE_BYTES, config.stageBytes()));
        List<R> results = new ArrayList<>(Collections.nCopies(size, null));
        List<Failure> failures = Collections.synchronizedList(new ArrayList<>());
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            int rank = i;
            Thread thread = new Thread(
                    () -> {
                        try {
                            results.set(rank, runRank(team.get(rank), body, failures));
                        } catch (Throwable cause) {
                            failures.add(new Failure(rank, cause));
                        }
                    },
                    "hvd-rank-" + rank);
            threads.add(thread);
            thread.start();
        }
        threads.forEach(RankThreads::join);
        if (!failures.isEmpty()) {
            throw firstOf(failures);
        }
        return results;
    }

    private <R> R runRank(LocalProvider provider, RankBody<R> body, List<Failure> failures) {
        Membership membership = Membership.join(provider, config, options, RankThreads::freeTheOthers);
        HvdContext context =
                new HvdContext(membership, config.engine().dynamicProcessSets() || options.dynamicProcessSets());
        Hvd.bind(context);
        try {
            R result = body.run(context);
            context.close();
            return result;
        } catch (Throwable cause) {
            // Noted before the others hear of it, because they fail in consequence.
            failures.add(new Failure(context.rank(), cause));
            membership.abort(1, "rank " + context.rank() + " threw " + cause);
            return null;
        } finally {
            Hvd.bind(null);
        }
    }

    /** A rank whose communication has failed will not come to any meeting, whatever its body does next. */
    private static void freeTheOthers(Membership membership, String why) {
        membership.abort(1, why);
    }

    /** The first failure in time that is not the consequence of another one. */
    private static HvdException firstOf(List<Failure> failures) {
        Failure first = failures.stream()
                .filter(failure -> !(failure.cause instanceof ShutdownException))
                .findFirst()
                .orElse(failures.get(0));
        HvdException thrown =
                new HvdException(ErrorId.SHUT_DOWN, "rank " + first.rank + " failed: " + first.cause, first.cause);
        failures.stream().filter(other -> other != first).forEach(other -> thrown.addSuppressed(other.cause));
        return thrown;
    }

    private static void join(Thread thread) {
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private record Failure(int rank, Throwable cause) {}
}
