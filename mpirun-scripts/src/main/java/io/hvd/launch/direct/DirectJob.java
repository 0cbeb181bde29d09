package io.hvd.launch.direct;

import io.hvd.config.RankPlace;
import io.hvd.config.Setting;
import io.hvd.error.FailureRecord;
import io.hvd.launch.failure.LastLines;
import io.hvd.launch.failure.ObservedFailure;
import io.hvd.launch.process.LaunchEnvironment;
import io.hvd.launch.process.StartedJob;
import io.hvd.rendezvous.Meeting;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** A job whose ranks the launcher starts itself. The first rank that fails ends the others. */
public final class DirectJob implements StartedJob {

    /** So long the first rank of hvd has to notice a failure itself and to leave a record of it. */
    private static final long NOTICE_MILLIS = 300;

    /** The same for all of them if one has: records of other hosts take longer. */
    private static final long RECORDS_MILLIS = 500;

    private static final long POLL_MILLIS = 10;

    /** From SIGTERM to SIGKILL for ranks that have left their records, and only wait to be ended. */
    private static final long SHORT_GRACE_MILLIS = 100;

    private static final long LAST_WORDS_MILLIS = 2_000;

    /** An sshd drops some of more than ten that have not logged in yet. */
    private static final int NEWCOMERS = 8;

    private final DirectPlan plan;
    private final Path folder;
    private final Map<String, String> variables;
    private final RankProcesses processes;

    private volatile Optional<ObservedFailure> failure = Optional.empty();

    /**
     * @param variables what all ranks get of this run
     * @param folder that of the job's failure records, by which its processes are told from others
     */
    public DirectJob(DirectPlan plan, Map<String, String> variables, Path folder, LaunchEnvironment around) {
        this.plan = plan;
        this.folder = folder;
        this.variables = new HashMap<>(variables);
        this.processes = new RankProcesses(plan, this.variables, folder, around);
    }

    @Override
    public int run() throws IOException, InterruptedException {
        try (Meeting meeting = LaunchMeeting.of(
                plan.job(), plan.ranks().stream().map(PlannedRank::host).toList())) {
            variables.put(Setting.RENDEZVOUS.variable(), RankPlace.LAUNCHER + meeting.address());
            startAll(plan, processes, processes.failed());
            int code = awaitEnds();
            processes.outputs().finish(LAST_WORDS_MILLIS);
            return code;
        } finally {
            processes.endInput();
        }
    }

    /** Starts all ranks of a plan, unless that is stopped before. */
    static void startAll(DirectPlan plan, RankProcesses processes, CompletableFuture<?> stop)
            throws IOException, InterruptedException {
        try {
            processes.open();
            processes.reserve(plan.ranks());
            startWaves(plan, processes, stop);
        } catch (IOException e) {
            processes.endRanks(RankProcesses.GRACE_MILLIS);
            throw e;
        }
    }

    /** Starts a few ranks of each other host at a time: its sshd takes no more newcomers. All that run here are one wave. */
    private static void startWaves(DirectPlan plan, RankProcesses processes, CompletableFuture<?> stop)
            throws IOException, InterruptedException {
        long deadline = System.nanoTime()
                + TimeUnit.SECONDS.toNanos(plan.job().settings().checks().limitSeconds());
        Map<Integer, List<PlannedRank>> waves = plan.ranks().stream()
                .collect(Collectors.groupingBy(
                        rank -> rank.here() ? 0 : rank.localRank() / NEWCOMERS, TreeMap::new, Collectors.toList()));
        for (List<PlannedRank> wave : waves.values()) {
            if (isStoppedBeforeAllStarted(processes, stop, deadline)) {
                return;
            }
            for (PlannedRank rank : wave) {
                processes.start(rank);
            }
        }
    }

    /** Waits for the ranks that are starting. One that has not at the deadline may still come; the other ranks name it if not. */
    private static boolean isStoppedBeforeAllStarted(RankProcesses processes, CompletableFuture<?> stop, long deadline)
            throws InterruptedException {
        try {
            CompletableFuture.anyOf(processes.allStarted(), stop)
                    .completeOnTimeout(null, deadline - System.nanoTime(), TimeUnit.NANOSECONDS)
                    .get();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e); // nobody completes them so
        }
        return stop.isDone();
    }

    private int awaitEnds() throws InterruptedException {
        for (int left = plan.ranks().size(); left > 0; left--) {
            RankProcess one = processes.ended().take();
            int code = one.process().exitValue();
            if (code != 0) {
                failure = Optional.of(one.failure(code));
                processes.endRanks(haveNoticed() ? SHORT_GRACE_MILLIS : RankProcesses.GRACE_MILLIS);
                return code;
            }
        }
        return 0;
    }

    /** Waits until all ranks that live have left a record of their own end; false if some have not in time. */
    private boolean haveNoticed() throws InterruptedException {
        long begun = System.nanoTime();
        Set<Integer> noticed = FailureRecord.ranksIn(folder);
        if (noticed.isEmpty() && !FailureRecord.hasStarted(folder)) {
            return false; // ranks that are still starting would say no more than that the start has failed
        }
        while (!noticed.containsAll(processes.living())) {
            long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
            if (millis >= (noticed.isEmpty() ? NOTICE_MILLIS : RECORDS_MILLIS)) {
                return false;
            }
            TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
            noticed = FailureRecord.ranksIn(folder);
        }
        return true;
    }

    @Override
    public void send(String signal) {
        processes.send(signal);
    }

    @Override
    public void end() {
        processes.end();
    }

    @Override
    public boolean ending() {
        return processes.ending();
    }

    @Override
    public void release() {
        processes.release();
    }

    @Override
    public Optional<ObservedFailure> firstFailure() {
        return failure;
    }

    @Override
    public LastLines.Said lastLines(int ofRank) {
        return processes.outputs().last(ofRank);
    }
}
