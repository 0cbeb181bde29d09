package io.hvd;

import io.hvd.config.HvdConfig;
import io.hvd.config.RankPlace;
import io.hvd.config.Setting;
import io.hvd.elastic.CoordinatorLink;
import io.hvd.elastic.CoordinatorLink.Membership;
import io.hvd.elastic.PlannedFault;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import io.hvd.log.HvdLogger;
import io.hvd.net.HostAddress;
import io.hvd.signal.SigTerm;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongConsumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A job whose ranks may be lost, and join, while it runs. {@code horovodrun --min-np 2 -np 4} starts one, over TCP; {@code
 * horovodrun --elastic-coordinator} waits for ranks that others start. Where a rank is lost, the others drop the step that
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
    /** So many generations one after the other may fail before their body runs. */
    private static final int MOST_FAILED_STARTS = 10;

    private static final String STEP = "hvd.elastic.step";
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

    private Elastic(
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

    /** Ends the body of one generation on all ranks, behind the same step, so that other ranks can join or leave. */
    private static final class MembershipChange extends RuntimeException {
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
        HvdConfig config = HvdConfig.from(System.getenv());
        Optional<RankPlace.AtCoordinator> coordinator = config.started().coordinator();
        if (coordinator.isEmpty()) {
            requireNoFaults(config);
            try (HvdContext hvd = Hvd.init()) {
                run(hvd, state, body);
            }
            return;
        }
        List<PlannedFault> faults = PlannedFault.parse(config.launcher().faultPlan());
        try (CoordinatorLink link = CoordinatorLink.join(
                coordinator.get().with(config.control().secret()),
                coordinator.get().worker(),
                System.getenv().getOrDefault("HOROVOD_HOSTNAME", HostAddress.localName()),
                config.control().encryption(),
                Duration.ofSeconds(config.control().startTimeoutSeconds()))) {
            boolean whole = run(link, state, body, faults);
            if (!whole) {
                if (!link.leaves()) {
                    LOG.notice("the job has ended before this process had a rank in it, and so this process ends");
                }
                SigTerm.end(); // what the program does after a whole training is not for one that has none
            }
        }
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
    private static boolean run(CoordinatorLink link, ElasticState state, Body body, List<PlannedFault> faults)
            throws Exception {
        Runnable leave = () -> {
            LOG.notice("SIGTERM has come: this rank leaves the job after a step, and the others go on");
            link.leave();
        };
        try (SigTerm signal = SigTerm.listen(leave)) {
            return new Worker(link, state, body, faults).run();
        }
    }

    /** Runs a body in one generation, that of a context that is there, such as one of {@link Hvd#spawn}: for tests, and ranks as threads. */
    public static void run(HvdContext hvd, ElasticState state, Body body) throws Exception {
        state.sync(hvd, 0);
        body.run(new Elastic(hvd, 0, Optional.empty(), state, committed -> {}, 0));
    }

    /** This process in one generation after the other. */
    private static final class Worker {
        private final CoordinatorLink link;
        private final ElasticState state;
        private final Body body;
        /** Those of all workers that have not happened to this one. */
        private final List<PlannedFault> faults;
        /** What the coordinator calls this process; -1 before its first generation. */
        private int number = -1;
        /** How many steps the state has seen; -1 before it has been that of all ranks. */
        private long step = -1;

        private int failedStarts;

        Worker(CoordinatorLink link, ElasticState state, Body body, List<PlannedFault> faults) {
            this.faults = new ArrayList<>(faults);
            this.link = link;
            this.state = state;
            this.body = body;
        }

        boolean run() throws Exception {
            boolean done = false;
            for (Optional<Membership> next = link.await(); next.isPresent(); next = link.await()) {
                number = next.get().workers().get(next.get().rank());
                done = run(next.get());
            }
            return done;
        }

        /** @return whether the body has returned */
        private boolean run(Membership member) throws Exception {
            boolean done = false;
            boolean lost = false;
            Set<Integer> unreachable = Set.of();
            HvdContext hvd = null;
            try {
                hvd = joined(member);
                link.entered(member.number(), hvd.membership()::giveUpFor);
                sync(hvd, member);
                failedStarts = 0;
                tell(hvd, member.number());
                runBody(hvd, member.number());
                done = true;
            } catch (Throwable e) {
                lost = isLost(e, hvd);
                if (!lost && causes(e).noneMatch(MembershipChange.class::isInstance)) {
                    link.failed("thread " + Thread.currentThread().getName() + " threw " + e);
                    throw e;
                }
                unreachable = unreachable(hvd, member.workers());
            } finally {
                if (hvd != null) {
                    hvd.shutdown();
                }
            }
            if (lost) {
                state.abandoned(); // behind the shutdown, when nothing is in flight any more
            }
            link.ready(member.number(), step, done, unreachable);
            return done;
        }

        /** Joins the generation, unless the coordinator gives it up before: then another rank may never come. */
        private HvdContext joined(Membership member) {
            Joining joining = new Joining(Thread.currentThread());
            link.entered(member.number(), joining::giveUp);
            try {
                return Hvd.init(options(member));
            } finally {
                joining.end();
            }
        }

        private void runBody(HvdContext hvd, int generation) throws Exception {
            LongConsumer steps = committed -> happen(fault -> fault.isDueAt(committed));
            Elastic elastic = new Elastic(hvd, generation, Optional.of(link), state, steps, step);
            try {
                steps.accept(step);
                body.run(elastic);
                elastic.endVotes();
            } finally {
                step = elastic.step;
            }
        }

        /** The state of the root, which has the most steps; a rank that has fewer keeps its own until it has all of it. */
        private void sync(HvdContext hvd, Membership member) {
            int root = member.root();
            long newest = (long) hvd.broadcast(STEP, Tensor.of(step), root).item();
            happen(fault -> fault.isDueInSync(member.number()));
            Runnable back = step >= 0 && step < newest ? state.backup() : () -> {};
            try {
                state.sync(hvd, root);
            } catch (RuntimeException e) {
                back.run();
                throw e;
            }
            step = Math.max(0, newest);
        }

        private void happen(Predicate<PlannedFault> due) {
            List<PlannedFault> now = faults.stream()
                    .filter(fault -> fault.rank() == number)
                    .filter(due)
                    .toList();
            faults.removeAll(now);
            now.forEach(PlannedFault::happen);
        }

        private void tell(HvdContext hvd, int generation) {
            if (hvd.rank() == 0 && generation > 0) {
                LOG.notice("generation {}: {} ranks, step {}{}", generation, hvd.size(), step, state.news());
            }
        }

        /** Whether a rank is lost, so that the step under way is abandoned and another generation may follow. */
        private boolean isLost(Throwable e, HvdContext hvd) {
            boolean lost = hvd == null
                    ? e instanceof HvdException known && isLoss(known) && ++failedStarts <= MOST_FAILED_STARTS
                    : !hvd.membership().failure().isEmpty() || causes(e).anyMatch(ShutdownException.class::isInstance);
            if (lost) {
                LOG.notice("step {} was abandoned: {}", step + 1, e.getMessage());
            }
            return lost;
        }

        private static boolean isLoss(HvdException e) {
            return e.id() == ErrorId.SHUT_DOWN || e.id() == ErrorId.INIT_FAILED || e.id() == ErrorId.BACK_END;
        }

        private static Stream<Throwable> causes(Throwable e) {
            return Stream.iterate(e, cause -> cause != null, Throwable::getCause);
        }

        private static Set<Integer> unreachable(HvdContext hvd, List<Integer> workers) {
            return hvd == null
                    ? Set.of()
                    : hvd.membership().unreachable().stream().map(workers::get).collect(Collectors.toSet());
        }

        private static InitOptions options(Membership member) {
            Map<String, String> settings = new HashMap<>();
            String host = member.hosts().get(member.rank());
            List<Integer> here = IntStream.range(0, member.hosts().size())
                    .filter(rank -> member.hosts().get(rank).equals(host))
                    .boxed()
                    .toList();
            settings.put("HOROVOD_RANK", String.valueOf(member.rank()));
            settings.put("HOROVOD_SIZE", String.valueOf(member.workers().size()));
            settings.put("HOROVOD_LOCAL_RANK", String.valueOf(here.indexOf(member.rank())));
            settings.put("HOROVOD_LOCAL_SIZE", String.valueOf(here.size()));
            settings.put(Setting.RENDEZVOUS.variable(), RankPlace.LAUNCHER + member.meeting());
            return InitOptions.standard().withSettings(settings).withFailurePolicy(FailurePolicy.THROW);
        }
    }

    /** A thread that joins a generation. An interrupt ends that. */
    private static final class Joining {
        /** Null after the end. */
        private Thread thread;

        private boolean givenUp;

        Joining(Thread thread) {
            this.thread = thread;
        }

        synchronized void giveUp(String why) {
            if (thread != null) {
                givenUp = true;
                thread.interrupt();
            }
        }

        /** The thread goes on with other things, which nobody has interrupted. */
        synchronized void end() {
            thread = null;
            if (givenUp) {
                Thread.interrupted();
            }
        }
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
    private void endVotes() {
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
