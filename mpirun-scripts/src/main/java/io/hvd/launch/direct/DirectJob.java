package io.hvd.launch.direct;

import io.hvd.config.RankPlace;
import io.hvd.config.Setting;
import io.hvd.error.FailureRecord;
import io.hvd.launch.failure.LastLines;
import io.hvd.launch.failure.ObservedFailure;
import io.hvd.launch.hosts.SshAccess;
import io.hvd.launch.process.JobProcesses;
import io.hvd.launch.process.JobWatch;
import io.hvd.launch.process.LaunchEnvironment;
import io.hvd.launch.process.StartedJob;
import io.hvd.launch.process.Terminal;
import java.io.File;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * A job whose ranks the launcher starts itself: those of this machine as its children, in a session each, and every other
 * one through an ssh of its own. The first rank that fails ends the others.
 */
public final class DirectJob implements StartedJob {

    /** So long the first rank of hvd has to notice a failure itself and to leave a record of it. */
    private static final long NOTICE_MILLIS = 300;

    /** The same for all of them if one has: records of other hosts take longer. */
    private static final long RECORDS_MILLIS = 500;

    private static final long POLL_MILLIS = 10;

    /** From SIGTERM to SIGKILL, as mpirun does it. */
    private static final long GRACE_MILLIS = 1_000;

    /** The same for ranks that have left their records, and only wait to be ended. */
    private static final long SHORT_GRACE_MILLIS = 100;

    /** The time in which ssh tells of the end of a rank on another host. */
    private static final long REMOTE_MILLIS = 2_500;

    private static final long LAST_WORDS_MILLIS = 2_000;
    /** The time in which the processes that copy a rank's output to its file end after it. */
    private static final long COPIERS_MILLIS = 500;

    private static final long KILLED_MILLIS = 2_000;
    private static final int MOST_LOOKS = 3;
    /** An sshd drops some of more than ten that have not logged in yet. */
    private static final int NEWCOMERS = 8;

    private static final File NOTHING = new File("/dev/null");

    private final DirectPlan plan;
    private final Path folder;
    private final Map<String, String> variables;
    private final LaunchEnvironment around;
    private final RankOutputs outputs;
    private final BlockingQueue<RankProcess> ended = new LinkedBlockingQueue<>();
    /** Completed by the first rank that fails, after it is among those that have {@link #ended}. */
    private final CompletableFuture<RankProcess> failed = new CompletableFuture<>();

    private final List<RankProcess> ranks = new ArrayList<>();
    private Optional<JobWatch> watch = Optional.empty();
    /** Those of the ranks on this machine. */
    private Optional<OutputPipes> pipes = Optional.empty();

    private boolean ending;
    /** Brings the launcher's input to a rank on another host. */
    private Optional<Process> input = Optional.empty();
    /** Whether the ranks have been ended, with all that they have left behind. */
    private boolean over;

    private volatile Optional<ObservedFailure> failure = Optional.empty();

    /**
     * @param variables what all ranks get of this run
     * @param folder that of the job's failure records, by which its processes are told from others
     */
    public DirectJob(DirectPlan plan, Map<String, String> variables, Path folder, LaunchEnvironment around) {
        this.plan = plan;
        this.folder = folder;
        this.variables = new HashMap<>(variables);
        this.around = around;
        this.outputs = new RankOutputs(plan.job().settings().output().prefixed());
    }

    @Override
    public int run() throws IOException, InterruptedException {
        try (Meeting meeting = Meeting.of(plan.job(), plan.ranks())) {
            variables.put(Setting.RENDEZVOUS.variable(), RankPlace.LAUNCHER + meeting.address());
            startAll();
            int code = awaitEnds();
            outputs.finish(LAST_WORDS_MILLIS);
            return code;
        } finally {
            endInput();
        }
    }

    private void startAll() throws IOException, InterruptedException {
        try {
            watchRanks();
            pipes = OutputPipes.make(
                    folder,
                    plan.ranks().stream().filter(PlannedRank::here).toList(),
                    plan.job().machine().environment());
            startWaves();
        } catch (IOException e) {
            endRanks(GRACE_MILLIS);
            throw e;
        }
    }

    private synchronized void watchRanks() throws IOException {
        watch = Optional.of(JobWatch.overRanks(folder, plan.job().machine().environment()));
    }

    /** Starts a few ranks of each other host at a time: its sshd takes no more newcomers. All that run here are one wave. */
    private void startWaves() throws IOException, InterruptedException {
        long deadline = System.nanoTime()
                + TimeUnit.SECONDS.toNanos(plan.job().settings().checks().limitSeconds());
        Map<Integer, List<PlannedRank>> waves = plan.ranks().stream()
                .collect(Collectors.groupingBy(
                        rank -> rank.here() ? 0 : rank.localRank() / NEWCOMERS, TreeMap::new, Collectors.toList()));
        for (List<PlannedRank> wave : waves.values()) {
            if (someHaveFailedBeforeAllStarted(deadline)) {
                return;
            }
            for (PlannedRank rank : wave) {
                start(rank);
            }
        }
    }

    /** Waits for the ranks that are starting. One that has not at the deadline may still come; the other ranks name it if not. */
    private boolean someHaveFailedBeforeAllStarted(long deadline) throws InterruptedException {
        var all =
                CompletableFuture.allOf(ranks.stream().map(RankProcess::started).toArray(CompletableFuture<?>[]::new));
        try {
            CompletableFuture.anyOf(all, failed)
                    .completeOnTimeout(null, deadline - System.nanoTime(), TimeUnit.NANOSECONDS)
                    .get();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e); // nobody completes them so
        }
        return failed.isDone();
    }

    private synchronized void start(PlannedRank rank) throws IOException, InterruptedException {
        if (ending) {
            throw new InterruptedException("ended before it began");
        }
        Optional<OutputPipes> own = pipes.filter(some -> rank.here());
        var one = new RankProcess(
                rank,
                own.isPresent() ? started(rank, own.get()) : builder(rank, own).start());
        ranks.add(one);
        if (rank.here()) {
            watch.ifPresent(open -> open.addRank(one.process()));
        } else {
            one.whenReading(pipe -> startInput(one, pipe));
            one.order(
                    RemoteRank.start(plan.environment(rank, variables), around.folder(), plan.command(), reads(rank)));
        }
        if (own.isEmpty()) {
            outputs.follow(one);
        }
        one.process().onExit().thenRun(() -> noteEnd(one));
    }

    private void noteEnd(RankProcess one) {
        ended.add(one);
        if (one.process().exitValue() != 0) {
            failed.complete(one);
        }
    }

    private Process started(PlannedRank rank, OutputPipes own) throws IOException {
        OutputPipes.Ends ends = own.open(rank);
        try {
            Process process = builder(rank, Optional.of(own)).start();
            outputs.follow(rank, ends);
            return process;
        } finally {
            ends.rankHasStarted();
        }
    }

    private ProcessBuilder builder(PlannedRank rank, Optional<OutputPipes> own) {
        var builder = new ProcessBuilder(plan.words(rank));
        own.ifPresent(some -> builder.redirectOutput(some.out(rank).toFile())
                .redirectError(some.err(rank).toFile()));
        around.directory().ifPresent(directory -> builder.directory(directory.toFile()));
        builder.environment().clear();
        builder.environment()
                .putAll(
                        rank.here()
                                ? plan.environment(rank, variables)
                                : plan.job().machine().environment());
        if (rank.here()) {
            builder.redirectInput(reads(rank) ? Redirect.INHERIT : Redirect.from(NOTHING));
        }
        return builder;
    }

    /** As under mpirun, rank 0 has the launcher's standard input, and no other rank has any. */
    private boolean reads(PlannedRank rank) {
        return rank.rank() == 0 && around.reads() && Terminal.mayBeRead();
    }

    /** By an ssh of its own, so that input which nobody reads holds no order up. {@link JobWatch} knows it by its environment. */
    private synchronized void startInput(RankProcess reader, String pipe) {
        if (ending || over) {
            return;
        }
        var builder = new ProcessBuilder(plan.call(reader.rank(), RemoteRank.input(pipe)))
                .inheritIO()
                .redirectOutput(Redirect.DISCARD);
        builder.environment().clear();
        builder.environment().putAll(plan.job().machine().environment());
        builder.environment().put(FailureRecord.DIRECTORY_VARIABLE, folder.toString());
        try {
            Process call = builder.start();
            input = Optional.of(call);
            call.onExit().thenRun(() -> {
                if (call.exitValue() == SshAccess.NOT_REACHED) {
                    giveUpInput(reader, "ssh does not reach its host a second time");
                }
            });
        } catch (IOException e) {
            giveUpInput(reader, e.getMessage());
        }
    }

    /** The rank waits for its input before it begins. */
    private static void giveUpInput(RankProcess reader, String why) {
        System.err.println(
                "horovodrun: rank 0 on " + reader.rank().host() + " is ended, since it gets no input: " + why);
        reader.endOrders();
    }

    private synchronized void endInput() {
        input.ifPresent(Process::destroy);
    }

    private int awaitEnds() throws InterruptedException {
        for (int left = plan.ranks().size(); left > 0; left--) {
            RankProcess one = ended.take();
            int code = one.process().exitValue();
            if (code != 0) {
                failure = Optional.of(one.failure(code));
                endRanks(haveNoticed() ? SHORT_GRACE_MILLIS : GRACE_MILLIS);
                return code;
            }
        }
        return 0;
    }

    /** Waits until all ranks that live have left a record of their own end; false if some have not in time. */
    private boolean haveNoticed() throws InterruptedException {
        long begun = System.nanoTime();
        Set<Integer> noticed = FailureRecord.ranksIn(folder);
        if (noticed.isEmpty() && !someHaveJoined()) {
            return false; // ranks that are still starting would say no more than that the start has failed
        }
        while (!noticed.containsAll(living())) {
            long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
            if (millis >= (noticed.isEmpty() ? NOTICE_MILLIS : RECORDS_MILLIS)) {
                return false;
            }
            TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
            noticed = FailureRecord.ranksIn(folder);
        }
        return true;
    }

    private boolean someHaveJoined() {
        try {
            return !FailureRecord.readStarted(folder).isEmpty();
        } catch (IOException e) {
            return true;
        }
    }

    private List<Integer> living() {
        return ranks.stream()
                .filter(one -> one.process().isAlive())
                .map(one -> one.rank().rank())
                .toList();
    }

    private void endWithin(long millis) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        for (RankProcess one : ranks) {
            one.process().waitFor(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
        }
    }

    /** Ends those that still live, and what ranks on this machine have left behind. */
    private synchronized void endRanks(long graceMillis) throws InterruptedException {
        List<RankProcess> elsewhere =
                ranks.stream().filter(one -> !one.rank().here()).toList();
        if (!living().isEmpty()) {
            send("TERM");
            endWithin(graceMillis);
        }
        ranks.stream().filter(one -> one.rank().here()).forEach(RankProcess::kill);
        send("KILL");
        elsewhere.forEach(RankProcess::endOrders);
        outputs.finish(COPIERS_MILLIS);
        for (int look = 0; look < MOST_LOOKS; look++) {
            List<ProcessHandle> left = JobProcesses.living(folder);
            if (left.isEmpty()) {
                break;
            }
            left.forEach(ProcessHandle::destroyForcibly);
            JobProcesses.endedWithin(left, KILLED_MILLIS);
        }
        endWithin(REMOTE_MILLIS);
        elsewhere.forEach(one -> one.process().destroyForcibly());
        endInput();
        over = true;
    }

    @Override
    public synchronized void send(String signal) {
        watch.ifPresent(open -> open.send(signal));
        ranks.stream().filter(one -> !one.rank().here()).forEach(one -> one.order(RemoteRank.signal(signal)));
    }

    @Override
    public synchronized void end() {
        ending = true;
        try {
            if (!over) {
                endRanks(GRACE_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public synchronized boolean ending() {
        return ending;
    }

    @Override
    public synchronized void release() {
        watch.ifPresent(JobWatch::close);
        watch = Optional.empty();
    }

    @Override
    public Optional<ObservedFailure> firstFailure() {
        return failure;
    }

    @Override
    public LastLines.Said lastLines(int ofRank) {
        return outputs.last(ofRank);
    }
}
