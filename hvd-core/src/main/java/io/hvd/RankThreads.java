package io.hvd;

import io.hvd.backend.local.LocalProvider;
import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import io.hvd.monitor.HangReport;
import io.hvd.monitor.Peers;
import io.hvd.monitor.SharedPeers;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Ranks as threads of one JVM, each bound to its own context. */
final class RankThreads {
    /** Small enough that the stages of a few ranks stay in cache together. */
    private static final int STAGE_BYTES = 1 << 18;

    private static final long JOIN_MILLIS = 50;
    private static final long GIVE_UP_NANOS = 2_000_000_000L;

    private final int size;
    private final InitOptions options;
    private final HvdConfig config;
    private final List<Failure> failures = Collections.synchronizedList(new ArrayList<>());
    private final CountDownLatch hangReported = new CountDownLatch(1);
    private long giveUpNanos;

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
        List<Peers> monitors = SharedPeers.team(size, "this JVM");
        List<R> results = new ArrayList<>(Collections.nCopies(size, null));
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            int rank = i;
            Membership.Place place =
                    new Membership.Place(team.get(rank), config, backend -> monitors.get(rank), new EndOfAll());
            Thread thread = new Thread(
                    () -> {
                        try {
                            results.set(rank, runRank(place, body));
                        } catch (Throwable cause) {
                            failures.add(new Failure(rank, cause));
                        }
                    },
                    "hvd-rank-" + rank);
            // Waited for all the same, but not for ever if it hangs.
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }
        join(threads);
        if (!failures.isEmpty()) {
            throw firstOf(List.copyOf(failures));
        }
        return results;
    }

    private <R> R runRank(Membership.Place place, RankBody<R> body) {
        Membership membership = Membership.join(place, options);
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
            membership.stopWatching();
            Hvd.bind(null);
        }
    }

    /** A rank whose communication has failed, or that hangs, will not come to any meeting, whatever its body does next. */
    private final class EndOfAll implements Membership.Events {
        @Override
        public void failed(Membership member, String why) {
            member.abort(1, why);
        }

        @Override
        public void hung(Membership member, HangReport hang) {
            if (hang.reporter() == member.topology().rank()) {
                failures.add(new Failure(
                        hang.reporter(),
                        new HvdException(ErrorId.SHUT_DOWN, hang.verdict() + "; all stacks: " + hang.file())));
                hangReported.countDown();
            }
            member.abort(1, "the job hangs: " + hang.verdict());
        }
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
        if (hangReported.getCount() > 0) {
            return false;
        }
        if (giveUpNanos == 0) {
            threads.forEach(Thread::interrupt);
            giveUpNanos = System.nanoTime() + GIVE_UP_NANOS;
        }
        return System.nanoTime() > giveUpNanos;
    }

    private record Failure(int rank, Throwable cause) {}
}
