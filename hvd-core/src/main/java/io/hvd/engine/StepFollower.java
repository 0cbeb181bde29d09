package io.hvd.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Takes this rank through the steps of a static plan: what the program submits goes into the steps,
 * whatever else it wants makes the rank leave them. Used by whoever has the turn in the data plane.
 */
final class StepFollower {
    private static final int NO_PLAN = 0;
    /** How long the last batch of a step is left for the program's own thread to run. */
    private static final long LEFT_TO_PROGRAM_NANOS = 5_000_000;
    /** A plan that has come no further than this is not worth being taken again. */
    private static final int FEW_STEPS = 3;
    /** How long an operation may lie in an incomplete batch before it is negotiated. */
    private static final long PATIENCE_NANOS = 1_000_000_000;

    private final SetMember set;
    private final TensorQueue queue;
    private final DataLog log;
    private final Unfinished unfinished;
    private final PlanExit exit;
    /** Rank 0's; null elsewhere. */
    private final StepStudy study;

    /** The communication thread sleeps for a moment only, in which it leaves the last batch to the program. */
    private boolean looksAgain;

    private final PromptWaits promptWaits = new PromptWaits();
    private Optional<List<List<String>>> proposal = Optional.empty();
    private LeftPlan left;
    private long lastSubmissionNanos;
    private long batchesRun;
    /** Number of the plan that holds, the same on all ranks; or {@link #NO_PLAN}. */
    private volatile int plan = NO_PLAN;

    private volatile Set<String> planned = Set.of();

    /**
     * @param set of all ranks
     * @param unfinished gets what has been carried out
     * @param exit the way out of a plan for all ranks
     * @param study of rank 0; null elsewhere
     */
    StepFollower(SetMember set, TensorQueue queue, DataLog log, Unfinished unfinished, PlanExit exit, StepStudy study) {
        this.unfinished = unfinished;
        this.exit = exit;
        this.study = study;
        this.set = set;
        this.queue = queue;
        this.log = log;
    }

    /** See {@link Engine#observed}; any thread. */
    void observed(int inSet, String name, boolean waits) {
        if (inSet == set.id() && plans(name)) {
            if (waits) {
                promptWaits.waits();
            }
            if (study != null) {
                study.observed(name);
            }
        }
    }

    /** The program submits nothing but what the steps are made of; any thread. */
    void submitted(List<PendingOp> ops) {
        promptWaits.submitted(ops.get(ops.size() - 1).call().submittedNanos());
    }

    /**
     * The program has submitted something that is not in the plan; any thread. The ranks leave the plan for it, and nobody
     * waits until a program that computes comes to its next batch, not even if this rank's communication thread is inside the
     * data plane. Only a barrier with a limit needs nothing of the kind as long as nothing else is under way here.
     */
    void submittedBeside(List<Engine.Submission> submissions) {
        int holds = plan;
        if (holds != NO_PLAN && !plans(submissions) && !(areLimited(submissions) && queue.hasOnlyLimited())) {
            exit.ask(holds);
        }
    }

    private static boolean areLimited(List<Engine.Submission> submissions) {
        return submissions.stream().allMatch(submission -> submission.request().hasLimit());
    }

    /** The static plan, if one holds, is to be left by all ranks; any thread. */
    void leave() {
        int holds = plan;
        if (holds != NO_PLAN) {
            exit.ask(holds);
        }
    }

    /** Whether a static plan holds; any thread may ask. */
    boolean follows() {
        return plan != NO_PLAN;
    }

    /** Whether an operation of that name is one of those that come in every step; any thread may ask. */
    boolean plans(String name) {
        return planned.contains(name);
    }

    /** Whether all of these are. */
    boolean plans(List<Engine.Submission> submissions) {
        for (Engine.Submission submission : submissions) {
            if (submission.set() != set.id() || !plans(submission.request().name())) {
                return false;
            }
        }
        return true;
    }

    /** From here on the step is carried out without plans. */
    void begin(List<List<String>> batches) {
        set.lock(batches, queue.announced(set.id()));
        planned = batches.stream().flatMap(List::stream).collect(Collectors.toUnmodifiableSet());
        lastSubmissionNanos = System.nanoTime();
        proposal = Optional.empty();
        batchesRun = 0;
        if (study != null) {
            study.begin(batches);
        }
        plan = set.epoch();
    }

    /** The plan that has been left last. */
    LeftPlan left() {
        return left;
    }

    /**
     * Takes what the program has submitted since into the steps.
     *
     * @param closing true when the rank has nothing more to submit
     * @return what goes to the coordinator all the same, because the ranks do not meet in the data plane for it
     */
    List<PendingOp> takeIn(boolean closing) {
        // In this order: whoever waits has submitted before, and that is drained then.
        boolean awaited = queue.isAwaited();
        List<PendingOp> fresh = queue.drainFresh();
        List<PendingOp> beside = new ArrayList<>();
        for (PendingOp op : fresh) {
            if (op.request().hasLimit()) {
                beside.add(op);
            } else {
                follow(op);
            }
        }
        if (!fresh.isEmpty()) {
            lastSubmissionNanos = System.nanoTime();
        }
        if (!awaited && set.steps().isDue() && isLeftToProgram()) {
            promptWaits.nobodyWaits();
        }
        boolean heldBack = (awaited && !set.steps().isDue()) || patienceNanos() == 0;
        if (heldBack && !set.steps().isIdle() && !set.steps().isLeft()) {
            findCutAnew(); // the program does not wait as it did when the step was cut
        }
        // The coordinator answers a barrier with a limit beside the plan, but not from inside the data plane.
        boolean barrierBehindStep = queue.hasLimited() && !set.steps().isIdle();
        if (closing || heldBack || barrierBehindStep || exit.isAsked(plan)) {
            set.steps().leave();
        }
        return beside;
    }

    private void findCutAnew() {
        if (study != null) {
            study.startAnew();
            proposal = Optional.of(List.of());
        }
    }

    /**
     * Does the same on a thread that waits for the last of what is fresh.
     *
     * @return false if something is there for which the communication thread is needed; then all of it is left to it
     */
    boolean takeInHere() {
        List<PendingOp> fresh =
                queue.drainFreshIf(op -> op.set() == set.id() && !op.request().hasLimit());
        for (PendingOp op : fresh) {
            follow(op);
        }
        lastSubmissionNanos = System.nanoTime();
        return !fresh.isEmpty();
    }

    private void follow(PendingOp op) {
        op.announce(false);
        if (op.set() == set.id()) {
            set.steps().submitted(op.request());
        } else {
            set.steps().leave();
        }
    }

    /**
     * Time until an incomplete batch is given up, so that its operations are not held back for ever; or the whole plan,
     * where what goes on beside it has no answer, since rank 0 waits in the data plane. What is fresh is not known yet, so
     * that a plan is looked at again after that time.
     */
    long patienceNanos() {
        if (!follows() || set.steps().isDue()) {
            return Long.MAX_VALUE;
        }
        long step = set.steps().isIdle()
                ? PATIENCE_NANOS
                : Math.max(0, PATIENCE_NANOS - (System.nanoTime() - lastSubmissionNanos));
        long patience = Math.min(step, queue.nanosUntilOverdue());
        return looksAgain ? Math.min(patience, LEFT_TO_PROGRAM_NANOS) : patience;
    }

    /**
     * Nobody need be woken for a part of the next batch.
     *
     * @return false if all of it has come meanwhile
     */
    boolean rest() {
        if (!follows()) {
            looksAgain = false;
            queue.restWithoutPlan();
            return true;
        }
        looksAgain = isLeftToProgram();
        return restHere();
    }

    /**
     * As {@link #rest}, for a thread that has carried out what was due while the communication thread sleeps for the time that
     * it has chosen itself.
     */
    boolean restHere() {
        return queue.rest(
                looksAgain && isLeftToProgram()
                        ? Integer.MAX_VALUE
                        : set.steps().missing());
    }

    /**
     * Whether the next batch is one that a thread of the program is going to carry out as it waits. Not where the steps
     * have paused: nobody need look every few milliseconds then.
     */
    private boolean isLeftToProgram() {
        return promptWaits.areExpected()
                && System.nanoTime() - lastSubmissionNanos < PATIENCE_NANOS
                && set.steps().isAtLastBatch()
                && takesAnyThread();
    }

    private boolean takesAnyThread() {
        return set.data().takesAnyThread(set.steps().nextDevice());
    }

    /** Whether this rank has something to do in the data plane. */
    boolean isDue() {
        return follows() && (set.steps().isLeft() || set.steps().isDue());
    }

    /** Whether the next batch can be carried out, and on any thread. */
    boolean isDueHere() {
        return follows() && set.steps().isDue() && takesAnyThread();
    }

    /** Whether nothing is left of what the program has submitted. */
    boolean isIdle() {
        return follows() && set.steps().isIdle() && !set.steps().isLeft();
    }

    /**
     * Carries the next batch out, or vetoes it.
     *
     * @return false if a rank has vetoed it: all ranks are back to negotiating, from the same batch on
     */
    boolean next() {
        StaticPlan steps = set.steps();
        if (steps.isLeft()) {
            exit.ask(plan);
            veto(steps);
        } else if (proposal.isPresent()) {
            veto(steps); // with a batch that is due, for which the other ranks come as well
        } else if (run(steps)) {
            return true;
        }
        if (proposal.isEmpty() && batchesRun < FEW_STEPS * steps.batches().size()) {
            findCutAnew(); // it does not suit another rank
        }
        left = new LeftPlan(proposal, steps.begunGroups());
        set.unlock();
        plan = NO_PLAN;
        planned = Set.of();
        return false;
    }

    private boolean run(StaticPlan steps) {
        List<PendingOp> ops = queue.all(set.id(), steps.next());
        log.enter(ops);
        Execution execution = unfinished.begin(set, ops, steps.nextBatch());
        long begun = System.nanoTime();
        Optional<List<Outcome>> outcomes = execution.runUnlessVetoed();
        if (outcomes.isEmpty()) {
            return false;
        }
        if (study != null) {
            study.ran(ops, begun, System.nanoTime(), steps.batches())
                    .ifPresent(better -> proposal = Optional.of(better));
        }
        steps.advance();
        batchesRun++;
        // Off the queue first: whoever waits may submit the same name as soon as it is done.
        for (PendingOp op : ops) {
            queue.take(set.id(), op.name());
        }
        unfinished.settle(execution, outcomes.get());
        return true;
    }

    private void veto(StaticPlan steps) {
        List<Request> requests = steps.nextRequests();
        long elements = requests.stream()
                .mapToLong(request -> request.shape().elements())
                .sum();
        Request first = requests.get(0);
        set.data().vetoAllreduce(first.device(), elements, Execution.onTheWire(first, 1));
    }
}
