package io.hvd;

import io.hvd.config.HvdConfig;
import io.hvd.config.RankPlace;
import io.hvd.elastic.CoordinatorLink;
import io.hvd.elastic.CoordinatorLink.Membership;
import io.hvd.elastic.PlannedFault;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.job.TaskCancellation;
import io.hvd.job.TaskPlace;
import io.hvd.job.TaskRank;
import io.hvd.job.TaskWatch;
import io.hvd.log.HvdLogger;
import io.hvd.net.HostAddress;
import io.hvd.net.LauncherAddress;
import io.hvd.signal.SigTerm;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import java.util.function.LongConsumer;
import java.util.stream.Stream;

/**
 * A job whose ranks may be lost, and join, while it runs. {@code horovodrun --min-np 2 -np 4} starts one, over TCP; {@code
 * horovodrun --elastic-coordinator} waits for ranks that others start, and {@code HvdSpark.runElastic} has tasks of Spark's. Where a rank is lost, the others drop the step that
 * they are in, form the next generation in the same processes, and go on from the last step that one of them has ended: no
 * step that a surviving rank has ended is lost, and no checkpoint is read.
 *
 * <pre>{@code
 * Elastic.run(state, elastic -> {
 *     optimizer.rebind(elastic.context()); // the body runs once for each generation
 *     while (elastic.step() < steps) {
 *         trainOneBatch(); // forward, backward, optimizer.step()
 *         elastic.commit();
 *     }
 * });
 * }</pre>
 *
 * <p>Horovod's {@code hvd.elastic.run} goes back to the last commit; here a commit costs an allreduce of four bytes that
 * nobody waits for, so a program commits every step.
 */
public final class Elastic {
    private static final HvdLogger LOG = HvdLogger.of(Elastic.class);
    private static final String NO_RANK = "the job has ended before this process had a rank in it";
    private static final ThreadLocal<TaskWorker> TASK = new ThreadLocal<>();

    private static final String VOTE = "hvd.elastic.commit";

    private final HvdContext context;
    private final int generation;
    private final Optional<CoordinatorLink> link;
    private final ElasticState state;
    private final LongConsumer faults;
    private final int[] vote = new int[1];
    /** Null while none has been made. */
    private PreparedAllreduce votes;

    private boolean voting;
    private long step;

    Elastic(
            HvdContext context,
            int generation,
            Optional<CoordinatorLink> link,
            ElasticState state,
            LongConsumer faults,
            long step) {
        this.faults = faults;
        this.context = context;
        this.generation = generation;
        this.link = link;
        this.state = state;
        this.step = step;
    }

    /** What all ranks of a generation run. */
    @FunctionalInterface
    public interface Body {
        /** Trains from {@link Elastic#step()} on, and returns when the training has ended. */
        void run(Elastic elastic) throws Exception;
    }

    /**
     * A worker of an elastic job that the scheduler of a cluster, such as Spark's, has started as a task, perhaps beside others
     * in one process: what the scheduler knows of it.
     */
    public interface Task {
        /** Where the job's coordinator listens; a name that is not resolved yet is looked up. */
        List<InetSocketAddress> coordinator();

        /** What only the coordinator and its workers know: 16 random bytes. */
        byte[] secret();

        /** The numbers of the GPUs that the scheduler has given to this worker; empty if hvd is to choose by local rank. */
        default List<Integer> gpus() {
            return List.of();
        }

        /**
         * Why the scheduler no longer wants this worker; empty while it does. A thread of hvd's asks several times a second, and
         * ends what the worker waits for.
         */
        default Optional<String> cancelled() {
            return Optional.empty();
        }
    }

    /** Ends the program of a task whose job has ended before it had a rank. */
    private static final class NoRank extends RuntimeException {
        private static final long serialVersionUID = 1L;

        NoRank() {
            super(NO_RANK + "; let this exception reach Elastic.runTask", null, false, false);
        }
    }

    /** The thread of a task, for the call of {@link #run} on it. */
    private static final class TaskWorker {
        private final Task task;
        private final InitOptions options;
        private final TaskCancellation cancellation = new TaskCancellation();
        /** Open until the program ends, whose failure the coordinator is told; empty before {@link #run}. */
        private Optional<CoordinatorLink> link = Optional.empty();

        TaskWorker(Task task, InitOptions options) {
            this.task = task;
            this.options = options;
        }

        <R> Optional<R> run(Callable<R> program) throws Exception {
            try (TaskWatch watch = new TaskWatch("this task of an elastic job", task::cancelled, cancellation)) {
                return Optional.of(program.call());
            } catch (Throwable e) {
                if (causes(e).anyMatch(NoRank.class::isInstance)) {
                    return Optional.empty();
                }
                link.ifPresent(open -> open.failed(e.toString()));
                throw e;
            } finally {
                cancellation.over();
                link.ifPresent(CoordinatorLink::close);
            }
        }

        void run(ElasticState state, Body body) throws Exception {
            if (link.isPresent()) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        "Elastic.run was called a second time in one task, expected once: the job has one training");
            }
            HvdConfig config = TaskRank.configWithoutPlace(Hvd.taskOptions(options));
            var coordinator = new LauncherAddress(HexFormat.of().formatHex(task.secret()), task.coordinator());
            CoordinatorLink joined = cancellation.joining(
                    () -> Elastic.joined(coordinator, OptionalInt.empty(), config), CoordinatorLink::quit);
            link = Optional.of(joined);
            if (!new ElasticWorker(joined, this::joined, state, body, faults(config)).run()) {
                throw new NoRank();
            }
        }

        private HvdContext joined(Membership member) {
            var place = new TaskPlace(member.rank(), member.workers().size(), task.gpus());
            return Hvd.joinTask(place, member.meeting(), options);
        }
    }

    static Stream<Throwable> causes(Throwable e) {
        return Stream.iterate(e, cause -> cause != null, Throwable::getCause);
    }

    /** Ends the body of one generation on all ranks, behind the same step, so that other ranks can join or leave. */
    static final class MembershipChange extends RuntimeException {
        private static final long serialVersionUID = 1L;

        MembershipChange() {
            super(
                    "the ranks of this job change behind this step; let this exception reach Elastic.run",
                    null,
                    false,
                    false);
        }
    }

    /**
     * Runs a body in one generation after the other, until it returns on all ranks. In a job that is not elastic, and without a
     * launcher, there is one generation, and a failure ends it as {@link Hvd#init()} says.
     *
     * <p>After SIGTERM, which clouds and Slurm send before they take a host away, this rank leaves the job at the end of a step
     * and its process ends; the others go on. A process that has no rank when the job ends, ends too.
     *
     * @param state is the same on all ranks before the body runs: in the first generation that of rank 0, later that of a rank
     *     with the most steps
     * @param body lets exceptions of hvd pass; any other exception ends this rank, and the others go on without it
     * @throws HvdException if the job goes on without this rank, or has too few ranks left; the message says why
     * @throws Exception that the body has thrown
     */
    public static void run(ElasticState state, Body body) throws Exception {
        TaskWorker task = TASK.get();
        if (task != null) {
            task.run(state, body);
            return;
        }
        HvdConfig config = HvdConfig.from(System.getenv());
        Optional<RankPlace.AtCoordinator> coordinator = config.started().coordinator();
        if (coordinator.isEmpty()) {
            requireNoFaults(config);
            try (HvdContext hvd = Hvd.init()) {
                run(hvd, state, body);
            }
            return;
        }
        LauncherAddress address = coordinator.get().with(config.control().secret());
        try (CoordinatorLink link = joined(address, coordinator.get().worker(), config)) {
            boolean whole = runToSigTerm(link, state, body, config);
            if (!whole) {
                if (!link.leaves()) {
                    LOG.notice(NO_RANK + ", and so this process ends");
                }
                SigTerm.end(); // what the program does after a whole training is not for one that has none
            }
        }
    }

    private static CoordinatorLink joined(LauncherAddress coordinator, OptionalInt worker, HvdConfig config) {
        return CoordinatorLink.join(
                coordinator,
                worker,
                System.getenv().getOrDefault("HOROVOD_HOSTNAME", HostAddress.localName()),
                config.control().encryption(),
                Duration.ofSeconds(config.control().startTimeoutSeconds()));
    }

    private static void requireNoFaults(HvdConfig config) {
        String plan = config.launcher().faultPlan();
        if (!plan.isEmpty()) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    PlannedFault.VARIABLE + " is \"" + plan
                            + "\", and this job is not elastic: start it with horovodrun --min-np");
        }
    }

    /** @return whether the training has ended, and not only this rank's part in it */
    private static boolean runToSigTerm(CoordinatorLink link, ElasticState state, Body body, HvdConfig config)
            throws Exception {
        Runnable leave = () -> {
            LOG.notice("SIGTERM has come: this rank leaves the job after a step, and the others go on");
            link.leave();
        };
        try (SigTerm signal = SigTerm.listen(leave)) {
            return new ElasticWorker(link, ElasticWorker::joinedByProcess, state, body, faults(config)).run();
        }
    }

    private static List<PlannedFault> faults(HvdConfig config) {
        return PlannedFault.parse(config.launcher().faultPlan());
    }

    /**
     * Runs the program of one worker, which a cluster's scheduler has started as a task on this thread. The program makes its
     * state and calls {@link #run(ElasticState, Body)} on this thread once, as it would under horovodrun. A process may have several
     * such workers side by side. A failure throws, and never ends the process; the other workers go on without this one, and the
     * scheduler may start the task anew.
     *
     * @param options choose none of the ranks; the failure policy is always {@link FailurePolicy#THROW}
     * @return what the program has returned, which is not null; empty if the job has ended before this worker had a rank in it
     * @throws HvdException as {@link #run(ElasticState, Body)} does
     * @throws Exception that the program has thrown
     */
    public static <R> Optional<R> runTask(Task task, InitOptions options, Callable<R> program) throws Exception {
        if (!options.ranks().isEmpty() || !options.processSets().isEmpty()) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "an elastic task for ranks " + options.ranks() + " and process sets " + options.processSets()
                            + ": its ranks change, so it takes part in all of them, and makes process sets in the body");
        }
        HvdContext before = Hvd.bound();
        TaskWorker worker = new TaskWorker(task, options);
        TASK.set(worker);
        try {
            return worker.run(program);
        } finally {
            TASK.remove();
            Hvd.bind(before);
        }
    }

    /** Runs a body in one generation, that of a context that is there, such as one of {@link Hvd#spawn}: for tests, and ranks as threads. */
    public static void run(HvdContext hvd, ElasticState state, Body body) throws Exception {
        state.sync(hvd, 0);
        body.run(new Elastic(hvd, 0, Optional.empty(), state, committed -> {}, 0));
    }

    /** The context of this generation. */
    public HvdContext context() {
        return context;
    }

    /** The number of this generation, from 0 on. */
    public int generation() {
        return generation;
    }

    /** How many steps the state has seen, over all generations. */
    public long step() {
        return step;
    }

    /**
     * A step has ended: the state is what it is after it, on all ranks. Every rank calls this directly behind the step of its
     * optimizer. Where ranks are to join or to leave, it throws on all ranks behind the same step; the exception has to reach
     * {@link #run}.
     */
    public void commit() {
        step++;
        state.committed();
        if (link.isEmpty()) {
            return;
        }
        endVotes();
        vote[0] = link.get().isInterrupted(generation) ? 1 : 0;
        if (context.size() == 1) {
            changeIfWanted();
        } else {
            vote();
        }
        faults.accept(step);
    }

    private void vote() {
        if (votes == null) {
            votes = context.prepareAllreduce(
                    List.of(VOTE), List.of(Tensor.of(vote)), AllreduceOptions.of(ReduceOp.MAX));
        }
        votes.start();
        voting = true;
    }

    /** The vote of the step before: it has travelled beside the gradients, so nobody waits for it, and all ranks know it now. */
    void endVotes() {
        if (voting) {
            voting = false;
            votes.await();
            changeIfWanted();
        }
    }

    private void changeIfWanted() {
        if (vote[0] > 0) {
            state.changing(context);
            throw new MembershipChange();
        }
    }
}
