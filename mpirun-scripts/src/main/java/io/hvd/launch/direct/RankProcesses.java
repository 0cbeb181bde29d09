package io.hvd.launch.direct;

import io.hvd.error.FailureRecord;
import io.hvd.launch.hosts.SshAccess;
import io.hvd.launch.process.JobProcesses;
import io.hvd.launch.process.JobWatch;
import io.hvd.launch.process.LaunchEnvironment;
import io.hvd.launch.process.Terminal;
import java.io.File;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The processes of a job's ranks: those of this machine are children of the launcher, in a group each, and every other one
 * is started through an ssh of its own. Any thread may use them.
 */
final class RankProcesses {

    /** From SIGTERM to SIGKILL, as mpirun does it. */
    static final long GRACE_MILLIS = 1_000;

    /** The time in which ssh tells of the end of a rank on another host. */
    private static final long REMOTE_MILLIS = 2_500;

    /** The time in which the processes that copy a rank's output to its file end after it. */
    private static final long COPIERS_MILLIS = 500;

    private static final long KILLED_MILLIS = 2_000;
    private static final int MOST_LOOKS = 3;

    private static final File NOTHING = new File("/dev/null");

    private final DirectPlan plan;
    private final Path folder;
    private final Map<String, String> variables;
    private final LaunchEnvironment around;
    private final RankOutputs outputs;
    private final BlockingQueue<RankProcess> ended = new LinkedBlockingQueue<>();
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

    /**
     * @param variables what all ranks get of this run; more may be put in before the first one is started
     * @param folder that of the job's failure records, by which its processes are told from others
     */
    RankProcesses(DirectPlan plan, Map<String, String> variables, Path folder, LaunchEnvironment around) {
        this.plan = plan;
        this.folder = folder;
        this.variables = variables;
        this.around = around;
        this.outputs = new RankOutputs(plan.job().settings().output().prefixed());
    }

    /** Watches over the ranks that are going to be started; called before the first one is. */
    synchronized void open() throws IOException {
        watch = Optional.of(JobWatch.overRanks(folder, plan.job().machine().environment()));
    }

    /** Makes the pipes for the output of those of some ranks that run here; called before they are started. */
    void reserve(List<PlannedRank> some) throws IOException, InterruptedException {
        pipes = OutputPipes.make(
                folder,
                some.stream().filter(PlannedRank::here).toList(),
                plan.job().machine().environment());
    }

    /**
     * Starts a rank.
     *
     * @throws InterruptedException if all are being ended
     */
    synchronized void start(PlannedRank rank) throws IOException, InterruptedException {
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

    /** Whether ssh reaches the host of a rank now. */
    boolean isReached(PlannedRank rank) {
        var builder = new ProcessBuilder(plan.call(rank, "true"))
                .redirectInput(Redirect.from(NOTHING))
                .redirectOutput(Redirect.DISCARD)
                .redirectError(Redirect.DISCARD);
        builder.environment().clear();
        builder.environment().putAll(plan.job().machine().environment());
        try {
            return builder.start().waitFor() == 0; // within the limit for connections that ssh is given
        } catch (IOException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    synchronized void endInput() {
        input.ifPresent(Process::destroy);
    }

    /** The numbers of the ranks whose processes live. */
    synchronized List<Integer> living() {
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
    synchronized void endRanks(long graceMillis) throws InterruptedException {
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

    /** Hands a signal on to all ranks. */
    synchronized void send(String signal) {
        watch.ifPresent(open -> open.send(signal));
        ranks.stream().filter(one -> !one.rank().here()).forEach(one -> one.order(RemoteRank.signal(signal)));
    }

    /** Ends all ranks, and lets no more be started. */
    synchronized void end() {
        ending = true;
        try {
            if (!over) {
                endRanks(GRACE_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Whether {@link #end} was called. */
    synchronized boolean ending() {
        return ending;
    }

    /** Nothing is left to be done if this process is killed now. */
    synchronized void release() {
        watch.ifPresent(JobWatch::close);
        watch = Optional.empty();
    }

    /** A future that completes when all ranks that are being started have started, or have ended. */
    synchronized CompletableFuture<Void> allStarted() {
        return CompletableFuture.allOf(ranks.stream().map(RankProcess::started).toArray(CompletableFuture<?>[]::new));
    }

    /** Completes with the first rank that fails, after it is among those that have {@link #ended}. */
    CompletableFuture<RankProcess> failed() {
        return failed;
    }

    /** The ranks whose processes have ended, in this order. */
    BlockingQueue<RankProcess> ended() {
        return ended;
    }

    /** Ends one rank by force, while the others go on. */
    synchronized void endOne(int number) {
        for (RankProcess one : ranks) {
            if (one.rank().rank() == number && one.process().isAlive()) {
                one.kill();
                one.endOrders();
            }
        }
    }

    RankOutputs outputs() {
        return outputs;
    }
}
