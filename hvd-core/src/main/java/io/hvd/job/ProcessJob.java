package io.hvd.job;

import io.hvd.buffer.BufferLedger;
import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.job.failure.EndProcess;
import io.hvd.job.failure.Excerpt;
import io.hvd.job.failure.FailureHandler;
import io.hvd.job.failure.FailureReport;
import io.hvd.job.failure.OutputLines;
import io.hvd.job.failure.ThrowToProgram;
import io.hvd.spi.Topology;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** The job that this process is in, as a rank or by its threads: one after the other, all under one guard. Any thread may use it. */
public final class ProcessJob {
    /** Null before the first job. */
    private EndProcess guard;
    /** The last job that this process has joined as one rank; null before. */
    private Membership current;

    /** Jobs that this process has joined as one rank. */
    private int joined;

    /** Spawns whose ranks run at the moment. */
    private final AtomicInteger spawns = new AtomicInteger();

    /** Joins as one rank the job that a launcher has started; without one, this process is a job of its own. */
    public synchronized Membership join(JobOptions options) {
        JobSettings settings = settings(options);
        apply(settings.config());
        if (settings.config().started().byLauncher() && !options.throwsFailures()) {
            OutputLines.ofRank(settings.config());
        }
        FailureHandler policy = handler(options, settings.config());
        Membership membership;
        try {
            membership = join(options, settings, policy);
        } catch (RuntimeException | Error e) {
            policy.notJoined(settings.config(), e);
            throw e;
        }
        StartLog.write(membership, membership.topology().localSize());
        return membership;
    }

    /** Applies the settings that hold for the whole process. */
    static void apply(HvdConfig config) {
        config.process().log().apply();
        BufferLedger.PROCESS.configure(
                config.memory().maxBufferBytes(), config.memory().bufferSites());
    }

    private JobSettings settings(JobOptions options) {
        try {
            return JobSettings.of(options);
        } catch (HvdException bad) {
            if (!options.throwsFailures()) {
                HvdConfig launchers = JobSettings.launchers(options);
                guard(launchers).notJoined(launchers, bad);
            }
            throw bad;
        }
    }

    /** The guard of an earlier job, if there was one, has nothing to watch in a job that throws. */
    private FailureHandler handler(JobOptions options, HvdConfig config) {
        if (!options.throwsFailures()) {
            return guard(config);
        }
        if (guard != null) {
            guard.standDown();
        }
        return ThrowToProgram.ofProcess();
    }

    private synchronized EndProcess guard(HvdConfig config) {
        if (guard == null) {
            guard = new EndProcess(new FailureReport(config));
        }
        return guard;
    }

    private Membership join(JobOptions options, JobSettings settings, FailureHandler policy) {
        requireDistinct(options.ranks());
        OpenFiles.require(settings.config(), Path.of("/proc"));
        if (settings.config().started().withOthers()) {
            settings.config().control().encryption().requireKey();
        }
        StartupHooks hooks = StartupHooks.begin();
        try {
            return join(options, settings, policy, hooks);
        } catch (RuntimeException | Error e) {
            hooks.awaitAfter(e);
            throw e;
        }
    }

    private Membership join(JobOptions options, JobSettings settings, FailureHandler policy, StartupHooks hooks) {
        HvdConfig config = settings.config();
        JoinRequest request = JoinRequest.bySockets(BackendSelection.choose(config, joined), settings, policy);
        Membership membership = request.join(options.ranks(), options.processSets(), hooks);
        joined++;
        policy.joined(membership);
        try {
            requireLaunchersJob(options.ranks(), config, membership.topology());
            membership.assign(GpuAssignment.assign(membership.topology(), config));
        } catch (RuntimeException e) {
            if (options.throwsFailures()) {
                policy.failed(membership, "init failed: " + Excerpt.summary(e));
                membership.stopWatching();
            }
            throw e;
        }
        current = membership;
        return membership;
    }

    /**
     * Runs ranks as threads, which are a job of their own, or a part of the one that a launcher has started.
     *
     * @return the results by thread
     */
    public <R> List<R> spawn(int size, JobOptions options, RankProgram<R> program) {
        JobSettings settings = settings(options);
        apply(settings.config());
        if (size < 1) {
            throw new IllegalArgumentException("spawn of " + size + " ranks, expected at least 1");
        }
        spawns.incrementAndGet();
        try {
            return threads(size, options, settings).run(program);
        } finally {
            spawns.decrementAndGet();
        }
    }

    private RankThreads threads(int size, JobOptions options, JobSettings settings) {
        List<List<Integer>> processSets = options.processSets();
        HvdConfig config = settings.config();
        config.transport().ifPresent(name -> {
            throw new HvdException(
                    ErrorId.BAD_SETTING,
                    "HVD_BACKEND is \"transport:" + name + "\", which connects ranks that are processes by Hvd.init();"
                            + " Hvd.spawn expects auto, local, mpi or nccl");
        });
        if (size > 1) {
            OutputLines.ofThreads(config);
        }
        if (BackendSelection.isOneOfSeveral(config)) {
            if (options.throwsFailures()) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        "spawn of " + size + " ranks with FailurePolicy.THROW in a job that a launcher has started,"
                                + " expected END_PROCESS: a failure of one of these ranks ends its process");
            }
            EndProcess guard = guardOfThreads(config, size);
            return RankThreads.launched(size, processSets, settings, guard, StartupHooks.begin());
        }
        StartupHooks.begin().await();
        StartLog.notes(config);
        return RankThreads.alone(size, processSets, settings);
    }

    /** Whether ranks run as threads of this process at the moment. */
    public boolean isSpawning() {
        return spawns.get() > 0;
    }

    /** The guard of this process, which must not be in a job already: MPI serves one at a time. */
    private synchronized EndProcess guardOfThreads(HvdConfig config, int size) {
        EndProcess process = guard(config);
        if (process.isInJob() || current != null && current.isOpen()) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "spawn of " + size + " ranks in a process that is part of a job already, by Hvd.init() or by"
                            + " another spawn; leave that one first, or leave it out: under a launcher spawn joins"
                            + " the job by itself");
        }
        return process;
    }

    /**
     * Leaves a record for the launcher: this process ends itself, for a reason that no stack explains.
     *
     * @param current this rank's place, or null if it is in no job
     */
    public static void recordFailure(String reason, int exitCode, Membership current) {
        FailureReport report = new FailureReport(HvdConfig.ofLauncherOnly(System.getenv()));
        if (current != null) {
            report.speakFor(current.topology());
        }
        report.recordOnly(reason, exitCode);
    }

    /** MPI and its launcher must mean the same job; one that was split on purpose is its program's business. */
    private static void requireLaunchersJob(List<Integer> ranks, HvdConfig config, Topology topology) {
        if (ranks.isEmpty()) {
            requireLaunchersJob(config, topology, 1);
        }
    }

    /** @param threads ranks of each process */
    static void requireLaunchersJob(HvdConfig config, Topology topology, int threads) {
        config.whyOtherJob(topology.rank() / threads, topology.size() / threads, topology.nodes(), topology.hosts())
                .ifPresent(why -> {
                    throw new HvdException(ErrorId.INIT_FAILED, why);
                });
    }

    private static void requireDistinct(List<Integer> ranks) {
        if (ranks.stream().distinct().count() < ranks.size()) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, "init for ranks " + ranks + ": a rank is named twice");
        }
    }
}
