package io.hvd.launch.direct;

import io.hvd.config.RankPlace;
import io.hvd.config.Setting;
import io.hvd.elastic.CoordinatorServer;
import io.hvd.elastic.ElasticLimits;
import io.hvd.elastic.OpenCoordinator;
import io.hvd.launch.failure.LastLines;
import io.hvd.launch.failure.ObservedFailure;
import io.hvd.launch.options.ElasticSettings;
import io.hvd.launch.process.LaunchEnvironment;
import io.hvd.launch.process.StartedJob;
import io.hvd.net.HandshakeListener;
import io.hvd.net.LauncherAddress;
import io.hvd.net.ServerSockets;
import java.io.IOException;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A job that goes on when ranks are lost, and grows when there are hosts for more. The launcher runs its coordinator, and starts
 * workers as long as there are free slots. A worker's number is its rank in the first generation, and stays the name of its
 * process, while its rank may change.
 */
public final class ElasticJob implements StartedJob {

    private static final long LAST_WORDS_MILLIS = 2_000;
    private static final long POLL_MILLIS = 20;
    private static final int FAILED = 1;

    private final DirectPlan plan;
    private final ElasticSettings settings;
    private final Map<String, String> variables;
    private final RankProcesses processes;
    private final WorkerSlots slots;
    /** What is to be done on the thread that runs the job. */
    private final BlockingQueue<Runnable> tasks = new LinkedBlockingQueue<>();
    /** Set on that thread, as are the following two. */
    private CoordinatorServer coordinator;
    /** Why the job has failed, empty if it has ended well; null before its end. */
    private String end;

    private int started;
    private final Set<Integer> living = new TreeSet<>();
    /** The workers of the latest generation. */
    private volatile Set<Integer> members = Set.of();

    /** Of workers that have ended otherwise than well, in order; those that the job has outlived too. */
    private final Map<Integer, ObservedFailure> failures = new LinkedHashMap<>();

    private volatile Optional<ObservedFailure> failure = Optional.empty();

    /**
     * @param variables what all ranks get of this run
     * @param folder that of the job's failure records, by which its processes are told from others
     */
    public ElasticJob(
            DirectPlan plan,
            ElasticSettings settings,
            Map<String, String> variables,
            Path folder,
            LaunchEnvironment around) {
        this.plan = plan;
        this.settings = settings;
        this.variables = new HashMap<>(variables);
        this.variables.remove(Setting.DECLARED_JOB.variable()); // its size is no longer what it was declared to be
        this.processes = new RankProcesses(plan, this.variables, folder, around);
        this.slots = new WorkerSlots(plan, settings, System::nanoTime, ElasticJob::inBackground);
    }

    @Override
    public int run() throws IOException, InterruptedException {
        try (CoordinatorServer server = ServerSockets.listen(
                LaunchMeeting.addresses(plan.job()),
                plan.job().settings().network().ports(),
                this::serve)) {
            coordinator = server;
            plan.ranks().forEach(this::expect);
            DirectJob.startAll(plan, processes, new CompletableFuture<>()); // a failure stops nothing
            int code = runToEnd();
            processes.outputs().finish(LAST_WORDS_MILLIS);
            return code;
        } finally {
            processes.endInput();
        }
    }

    /** What the coordinator of a job is told. @param first the ranks with which the job begins */
    public static ElasticLimits limits(ElasticSettings settings, int first, int startSeconds) {
        return new ElasticLimits(
                settings.atLeast(),
                settings.atMost(),
                first,
                TimeUnit.SECONDS.toMillis(Math.max(settings.timeoutSeconds(), startSeconds)),
                TimeUnit.SECONDS.toMillis(settings.timeoutSeconds()),
                settings.resets());
    }

    private CoordinatorServer serve(List<ServerSocketChannel> sockets) throws IOException {
        var network = plan.job().settings().network();
        network.encryption().requireKey();
        byte[] secret = HandshakeListener.newSecret();
        variables.put(
                Setting.RENDEZVOUS.variable(),
                RankPlace.ELASTIC + LauncherAddress.of(sockets, secret).encode());
        ElasticLimits limits = limits(
                settings, plan.ranks().size(), plan.job().settings().checks().limitSeconds());
        return CoordinatorServer.start(
                sockets,
                secret,
                network.encryption(),
                limits,
                hosts -> LaunchMeeting.of(plan.job(), hosts),
                new Decisions());
    }

    /** Hears of the coordinator's decisions, and leaves what they ask for to the thread that runs the job. */
    private final class Decisions implements CoordinatorServer.Events {
        @Override
        public void say(String sentence) {
            System.err.println("horovodrun: " + sentence);
        }

        @Override
        public void begun(int generation, List<Integer> workers) {
            members = Set.copyOf(workers);
            if (generation > 0) {
                say(OpenCoordinator.begins(generation, workers));
            }
        }

        @Override
        public void refused(int worker, String why) {
            tasks.add(() -> {
                slots.hostIsLost(worker);
                processes.endOne(worker);
            });
        }

        @Override
        public void finished(String why) {
            tasks.add(() -> end = why);
        }
    }

    private static void inBackground(Runnable task) {
        var thread = new Thread(task, "hvd-launch-hosts");
        thread.setDaemon(true);
        thread.start();
    }

    private void expect(PlannedRank worker) {
        started++;
        living.add(worker.rank());
        slots.take(worker);
        coordinator.started(worker.rank(), worker.host());
    }

    private int runToEnd() throws IOException, InterruptedException {
        while (end == null && !living.isEmpty()) {
            Runnable task = tasks.poll(POLL_MILLIS, TimeUnit.MILLISECONDS);
            if (task != null) {
                task.run();
            }
            for (RankProcess one = processes.ended().poll();
                    one != null;
                    one = processes.ended().poll()) {
                noteEnd(one);
            }
            if (end == null && !processes.ending()) {
                startMore();
            }
        }
        if (end == null || !end.isEmpty()) {
            return failed();
        }
        living.stream().filter(worker -> !members.contains(worker)).forEach(processes::endOne);
        return awaitEnds();
    }

    private int failed() throws InterruptedException {
        if (end != null) {
            System.err.println("horovodrun: the elastic job has failed: " + end);
        }
        failure = causeOfTheEnd();
        processes.endRanks(RankProcesses.GRACE_MILLIS);
        return failure.map(ObservedFailure::exitCode).orElse(end == null ? 0 : FAILED);
    }

    /** The first worker of the latest generation that has failed; others were lost before, and the job has gone on without them. */
    private Optional<ObservedFailure> causeOfTheEnd() {
        Set<Integer> last = members;
        return failures.entrySet().stream()
                .filter(one -> last.isEmpty() || last.contains(one.getKey()))
                .map(Map.Entry::getValue)
                .findFirst()
                .or(() -> failures.values().stream().reduce((earlier, later) -> later));
    }

    private void noteEnd(RankProcess one) {
        int code = one.process().exitValue();
        int worker = one.rank().rank();
        String why = code == 0
                ? "its program has ended"
                : one.failure(code, "worker").words();
        living.remove(worker);
        if (code != 0) {
            System.err.println("horovodrun: " + why);
            failures.put(worker, one.failure(code, "worker"));
        }
        if (one.mayHaveLostItsHost()) {
            inBackground(() -> {
                boolean lost = one.wasNotReached() || !processes.isReached(one.rank());
                tasks.add(() -> noteSlot(worker, lost));
            });
        } else {
            slots.ended(worker, code != 0);
        }
        coordinator.ended(worker, why);
    }

    /** The slot of a failed worker is used again if its host was the reason. */
    private void noteSlot(int worker, boolean hostLost) {
        if (hostLost) {
            slots.hostIsLost(worker);
        }
        slots.ended(worker, true);
    }

    private void startMore() throws IOException, InterruptedException {
        List<PlannedRank> more = slots.free(started, settings.atMost() - living.size());
        if (!more.isEmpty()) {
            processes.reserve(more);
        }
        for (PlannedRank worker : more) {
            expect(worker);
            processes.start(worker);
        }
    }

    /** After the end of a job that has ended well its programs do what they do after it, such as saving a model. */
    private int awaitEnds() throws InterruptedException {
        while (!living.isEmpty()) {
            RankProcess one = processes.ended().take();
            int code = one.process().exitValue();
            living.remove(one.rank().rank());
            if (code != 0 && failure.isEmpty() && members.contains(one.rank().rank())) {
                failure = Optional.of(one.failure(code, "worker"));
            }
        }
        return failure.map(ObservedFailure::exitCode).orElse(0);
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
