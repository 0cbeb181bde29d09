package io.hvd;

import io.hvd.config.RankPlace;
import io.hvd.config.Setting;
import io.hvd.elastic.CoordinatorLink;
import io.hvd.elastic.CoordinatorLink.Membership;
import io.hvd.elastic.PlannedFault;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import io.hvd.log.HvdLogger;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.LongConsumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A worker of an elastic job in one generation after the other. */
final class ElasticWorker {
    private static final HvdLogger LOG = HvdLogger.of(Elastic.class);
    /** So many generations one after the other may fail before their body runs. */
    private static final int MOST_FAILED_STARTS = 10;

    private static final String STEP = "hvd.elastic.step";

    private final CoordinatorLink link;
    private final Function<Membership, HvdContext> join;
    private final ElasticState state;
    private final Elastic.Body body;
    /** Those of all workers that have not happened to this one. */
    private final List<PlannedFault> faults;
    /** What the coordinator calls this process; -1 before its first generation. */
    private int number = -1;
    /** How many steps the state has seen; -1 before it has been that of all ranks. */
    private long step = -1;

    private int failedStarts;

    ElasticWorker(
            CoordinatorLink link,
            Function<Membership, HvdContext> join,
            ElasticState state,
            Elastic.Body body,
            List<PlannedFault> faults) {
        this.join = join;
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
            if (!lost && Elastic.causes(e).noneMatch(Elastic.MembershipChange.class::isInstance)) {
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
            return join.apply(member);
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
            step = elastic.step();
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
                : !hvd.membership().failure().isEmpty()
                        || Elastic.causes(e).anyMatch(ShutdownException.class::isInstance);
        if (lost) {
            LOG.notice("step {} was abandoned: {}", step + 1, e.getMessage());
        }
        return lost;
    }

    private static boolean isLoss(HvdException e) {
        return e.id() == ErrorId.SHUT_DOWN || e.id() == ErrorId.INIT_FAILED || e.id() == ErrorId.BACK_END;
    }

    private static Set<Integer> unreachable(HvdContext hvd, List<Integer> workers) {
        return hvd == null
                ? Set.of()
                : hvd.membership().unreachable().stream().map(workers::get).collect(Collectors.toSet());
    }

    /** Joins a generation as the rank that this process is. */
    static HvdContext joinedByProcess(Membership member) {
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
        return Hvd.init(InitOptions.standard().withSettings(settings).withFailurePolicy(FailurePolicy.THROW));
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
}
