package io.hvd.job;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.host.local.LocalProvider;
import io.hvd.job.failure.Excerpt;
import io.hvd.job.failure.ThrowToProgram;
import io.hvd.monitor.peers.Peers;
import io.hvd.monitor.view.HangReport;
import io.hvd.spi.BackendProvider;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Threads that are a job of their own; it ends with them, and its process lives on. */
final class LocalJob implements SpawnedJob {
    /** As {@link ThrowToProgram} gives the engines to tell each other. */
    private static final long TELL_MILLIS = 300;

    private final List<List<Integer>> processSets;
    private final JobSettings settings;
    private final SpawnFailures failures;
    private final List<LocalProvider> threads;
    private final List<BackendProvider> providers;
    private final List<Peers> monitors;
    private final Set<Integer> reporters = new HashSet<>();
    /** The ranks that have joined so far. */
    private final Queue<Membership> members = new ConcurrentLinkedQueue<>();

    LocalJob(int size, List<List<Integer>> processSets, JobSettings settings, SpawnFailures failures) {
        this.processSets = processSets;
        this.settings = settings;
        this.failures = failures;
        this.threads = LocalProvider.ofThreads(size, settings.config().memory().stageBytes());
        this.providers = BackendSelection.ofThreads(threads, settings.config());
        this.monitors = Peers.ofThreads(size, "this JVM");
    }

    @Override
    public Membership join(int thread) {
        Membership membership = new JoinRequest(
                        providers.get(thread),
                        settings,
                        backend -> monitors.get(thread),
                        ThrowToProgram.ofThreads(this::keep))
                .join(List.of(), processSets, StartupHooks.over());
        members.add(membership);
        try {
            membership.assign(GpuAssignment.ofThread(membership.topology(), settings.config()));
        } catch (RuntimeException e) {
            // The others have joined, and would wait for this one.
            membership.abandon("rank " + thread + " could not take its GPU: " + e.getMessage());
            throw e;
        }
        return membership;
    }

    @Override
    public void refused(int thread, Throwable cause) {
        // What can fail here fails for all threads of a process alike, or before any of them joins.
    }

    @Override
    public void begin(Membership membership) {
        // there is no other process to tell
    }

    @Override
    public void leave(Membership membership) {
        membership.close(true);
    }

    @Override
    public void failed(int thread, Membership membership, Throwable cause) {
        membership.abandon("rank " + thread + " threw " + Excerpt.summary(cause));
    }

    /** The engines are told first, since they give the reason itself; the hub ends what waits in any other place. */
    @Override
    public void cancel(String why) {
        members.stream().findFirst().ifPresent(member -> member.fail(why, TELL_MILLIS));
        threads.get(0).giveUp(why);
    }

    /** Keeps the report of a hang, but only the first of each reporter. */
    private synchronized void keep(HangReport hang) {
        if (reporters.add(hang.reporter())) {
            failures.addHang(
                    "rank " + hang.reporter(),
                    new HvdException(ErrorId.SHUT_DOWN, hang.verdict() + "; all stacks: " + hang.file()));
        }
    }
}
