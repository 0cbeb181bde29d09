package io.hvd.job;

import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.host.hybrid.HybridProvider;
import io.hvd.job.failure.EndProcess;
import io.hvd.job.failure.Excerpt;
import io.hvd.job.failure.FailureHandler;
import io.hvd.job.failure.FailureReport;
import io.hvd.job.failure.JobMember;
import io.hvd.monitor.view.HangReport;
import io.hvd.spi.BackendProvider;
import io.hvd.spi.Topology;
import java.util.ArrayList;
import java.util.List;

/**
 * Threads that are ranks of a larger job, together with those of the other processes that a launcher has started. A
 * rank that fails ends all of them, as one that is a process does.
 */
final class LaunchedJob implements SpawnedJob {
    private final int threads;
    private final List<List<Integer>> processSets;
    private final JobSettings settings;
    private final StartupHooks hooks;
    private final List<HybridProvider> hybrids;
    private final List<BackendProvider> providers;
    /** Each speaks for its own rank; the first one watches the process. */
    private final List<EndProcess> guards = new ArrayList<>();

    /** @param process guards it for as long as it lives */
    LaunchedJob(
            int threads,
            List<List<Integer>> processSets,
            JobSettings settings,
            EndProcess process,
            StartupHooks hooks) {
        HvdConfig config = settings.config();
        this.threads = threads;
        this.processSets = processSets;
        this.settings = settings;
        this.hooks = hooks;
        this.hybrids = HybridProvider.ofProcess(
                threads, config.memory().stageBytes(), BackendSelection.betweenProcesses(config));
        this.providers = BackendSelection.ofThreads(hybrids, config);
        guards.add(process);
        while (guards.size() < threads) {
            guards.add(new EndProcess(new FailureReport(config)));
        }
    }

    @Override
    public Membership join(int thread) {
        settings.config().control().encryption().requireKey();
        JoinRequest request = JoinRequest.bySockets(providers.get(thread), settings, new Events(thread));
        Membership membership = request.join(List.of(), processSets, hooks);
        if (thread == 0) {
            guards.get(0).joined(membership);
        } else {
            guards.get(thread).follow(membership);
        }
        membership.assign(GpuAssignment.ofThread(membership.topology(), settings.config()));
        return membership;
    }

    @Override
    public void refused(int thread, Throwable cause) {
        if (thread == 0) {
            guards.get(0).notJoined(settings.config(), cause);
        }
        hybrids.get(thread).giveUp("thread " + thread + " could not join: " + Excerpt.summary(cause));
    }

    @Override
    public void begin(Membership membership) {
        Topology topology = membership.topology();
        ProcessJob.requireLaunchersJob(settings.config(), topology, threads);
        // Only the thread that owns MPI keeps a processor busy as long as it waits; the others soon sleep.
        StartLog.write(membership, topology.localSize() / threads);
    }

    /** MPI stays until the process ends: the program may spawn again. */
    @Override
    public void leave(Membership membership) {
        membership.close(false);
    }

    @Override
    public void failed(int thread, Membership membership, Throwable cause) {
        guards.get(thread).threw(Thread.currentThread(), cause);
    }

    /** As a body that throws, it ends all processes. */
    @Override
    public void cancel(String why) {
        guards.get(0).threw(Thread.currentThread(), new HvdException(ErrorId.SHUT_DOWN, why));
        hybrids.forEach(hybrid -> hybrid.giveUp(why));
    }

    private final class Events implements FailureHandler {
        private final int thread;

        Events(int thread) {
            this.thread = thread;
        }

        @Override
        public void notJoined(HvdConfig config, Throwable cause) {
            guards.get(thread).notJoined(config, cause);
        }

        @Override
        public void joined(JobMember member) {
            guards.get(thread).joined(member);
        }

        @Override
        public void placed(Topology topology) {
            guards.get(thread).placed(topology);
        }

        @Override
        public boolean goesOn() {
            return false;
        }

        @Override
        public void failed(JobMember member, String why) {
            guards.get(thread).failed(member, why);
        }

        @Override
        public void hangFound(JobMember member, HangReport hang) {
            guards.get(thread).hangFound(member, hang);
        }

        @Override
        public void heldUp(JobMember member, long millis) {
            guards.get(thread).heldUp(member, millis);
        }

        /** The first guard to act ends the process: where the reporter is one of its threads, that must be its own. */
        @Override
        public void hung(JobMember member, HangReport hang) {
            int rank = member.topology().rank();
            if (hang.reporter() == rank || hang.reporter() / threads != rank / threads) {
                guards.get(thread).hung(member, hang);
            } else {
                guards.get(thread).noteHang(member, hang);
            }
        }
    }
}
