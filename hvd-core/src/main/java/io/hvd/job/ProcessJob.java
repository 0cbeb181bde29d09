package io.hvd.job;

import io.hvd.buffer.BufferLedger;
import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.monitor.peers.Peers;
import io.hvd.spi.Topology;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;

/** The job that this process is in, as a rank or by its threads: one after the other, all under one guard. Any thread may use it. */
public final class ProcessJob {
    /** Null before the first job. */
    private JobGuard guard;
    /** Spawns whose ranks run at the moment. */
    private final AtomicInteger spawns = new AtomicInteger();

    /**
     * Joins as one rank the job that a launcher has started; without one, this process is a job of its own.
     *
     * @param ranks world ranks that take part, in their new order; empty means all
     * @param processSets global ranks of the process sets that are there from the start
     * @param options what the program asks for, on top of the settings
     */
    public synchronized Membership join(
            List<Integer> ranks, List<List<Integer>> processSets, UnaryOperator<HvdConfig> options) {
        HvdConfig config = options.apply(settings(options));
        apply(config);
        if (config.started().byLauncher()) {
            OutputLines.ofRank(config);
        }
        requireDistinct(ranks);
        JobGuard process = guard(config);
        Membership membership;
        try {
            membership = join(ranks, processSets, config, process);
        } catch (RuntimeException | Error e) {
            process.notJoined(config, e);
            throw e;
        }
        StartLog.write(membership, membership.topology().localSize());
        return membership;
    }

    /** What holds for the whole process. */
    private static void apply(HvdConfig config) {
        config.process().log().apply();
        BufferLedger.PROCESS.configure(
                config.memory().maxBufferBytes(), config.memory().bufferSites());
    }

    private static HvdConfig settings(UnaryOperator<HvdConfig> options) {
        try {
            return HvdConfig.fromEnvironment();
        } catch (HvdException bad) {
            HvdConfig launchers = options.apply(HvdConfig.ofLauncherOnly(System.getenv()));
            new JobGuard(new FailureReport(launchers)).notJoined(launchers, bad);
            throw bad;
        }
    }

    private synchronized JobGuard guard(HvdConfig config) {
        if (guard == null) {
            guard = new JobGuard(new FailureReport(config));
        }
        return guard;
    }

    private static Membership join(
            List<Integer> ranks, List<List<Integer>> processSets, HvdConfig config, JobGuard guard) {
        OpenFiles.require(config, Path.of("/proc"));
        StartupHooks hooks = StartupHooks.begin();
        try {
            return join(ranks, processSets, config, guard, hooks);
        } catch (RuntimeException | Error e) {
            hooks.awaitAfter(e);
            throw e;
        }
    }

    private static Membership join(
            List<Integer> ranks,
            List<List<Integer>> processSets,
            HvdConfig config,
            JobGuard guard,
            StartupHooks hooks) {
        JoinRequest request = new JoinRequest(
                BackendSelection.choose(config),
                config,
                backend -> Peers.connect(backend, config.control().networkInterface()),
                guard);
        Membership membership = request.join(ranks, processSets, hooks);
        guard.watch(membership);
        requireLaunchersJob(ranks, config, membership.topology());
        membership.assign(GpuAssignment.assign(membership.topology(), config));
        return membership;
    }

    /**
     * Runs ranks as threads, which are a job of their own, or a part of the one that a launcher has started.
     *
     * @param processSets global ranks of those that are there from the start
     * @param options what the program asks for, on top of the settings
     * @return the results by thread
     */
    public <R> List<R> spawn(
            int size, List<List<Integer>> processSets, UnaryOperator<HvdConfig> options, RankProgram<R> program) {
        HvdConfig config = options.apply(HvdConfig.fromEnvironment());
        apply(config);
        StartupHooks.begin().await();
        if (size < 1) {
            throw new IllegalArgumentException("spawn of " + size + " ranks, expected at least 1");
        }
        spawns.incrementAndGet();
        try {
            return threads(size, processSets, config).run(program);
        } finally {
            spawns.decrementAndGet();
        }
    }

    private RankThreads threads(int size, List<List<Integer>> processSets, HvdConfig config) {
        if (size > 1) {
            OutputLines.ofThreads(config);
        }
        if (BackendSelection.isOneOfSeveral(config)) {
            return RankThreads.launched(size, processSets, config, guardOfThreads(config, size));
        }
        StartLog.notes(config);
        return RankThreads.alone(size, processSets, config);
    }

    /** Whether ranks run as threads of this process at the moment. */
    public boolean isSpawning() {
        return spawns.get() > 0;
    }

    /** The guard of this process, which must not be in a job already: MPI serves one at a time. */
    private synchronized JobGuard guardOfThreads(HvdConfig config, int size) {
        JobGuard process = guard(config);
        if (process.isInJob()) {
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
