package io.hvd.engine;

import io.hvd.engine.StaticPlan.PlannedBatch;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Takes this rank through the steps of a static plan: what the program submits goes into the steps,
 * whatever else it wants makes the rank leave them. Used by whoever has the {@link Turn}, and by nobody else.
 */
final class StepFollower {
    /** How long the last batch of a step is left for the program's own thread to run. */
    private static final long LEFT_TO_PROGRAM_NANOS = 5_000_000;
    /** A plan that has come no further than this is not worth being taken again. */
    private static final int FEW_STEPS = 3;
    /** How long an operation may lie in an incomplete batch before it is negotiated. */
    private static final long PATIENCE_NANOS = 1_000_000_000;

    private final Turn turn;
    private final SetMember set;
    private final HeldPlan plan;
    private final TensorQueue queue;
    private final DataLog log;
    private final Unfinished unfinished;
    /** Rank 0's; null elsewhere. */
    private final StepStudy study;

    /** The communication thread sleeps for a moment only, in which it leaves the last batch to the program. */
    private boolean looksAgain;

    private final PromptWaits promptWaits;
    private Optional<List<List<String>>> proposal = Optional.empty();
    private LeftPlan left;
    private long lastSubmissionNanos;
    private long batchesRun;
    /** Handed to the queue whenever it hands over the operations that it has gathered. */
    private List<PendingOp> emptied = new ArrayList<>();

    /**
     * @param set of all ranks
     * @param plan what the program's threads see of all this
     * @param unfinished gets what has been carried out
     * @param study of rank 0; null elsewhere
     */
    StepFollower(
            Turn turn,
            SetMember set,
            HeldPlan plan,
            TensorQueue queue,
            DataLog log,
            Unfinished unfinished,
            StepStudy study) {
        this.turn = turn;
        this.set = set;
        this.plan = plan;
        this.promptWaits = plan.promptWaits();
        this.queue = queue;
        this.log = log;
        this.unfinished = unfinished;
        this.study = study;
    }

    /** From here on the step is carried out without plans. */
    void begin(List<List<String>> batches) {
        assert turn.isMine();
        set.lock(batches, queue.announced(set.id()));
        lastSubmissionNanos = System.nanoTime();
        proposal = Optional.empty();
        batchesRun = 0;
        if (study != null) {
            study.begin(batches);
        }
        plan.begin(set.epoch());
    }

    /** The plan that has been left last. */
    LeftPlan left() {
        assert turn.isMine();
        return left;
    }

    /**
     * Takes what the program has submitted since into the steps.
     *
     * @param closing true when the rank has nothing more to submit
     * @return what goes to the coordinator all the same, because the ranks do not meet in the data plane for it
     */
    List<PendingOp> takeIn(boolean closing) {
        assert turn.isMine();
        // In this order: whoever waits has submitted before, and that is drained then.
        boolean awaited = queue.isAwaited();
        List<PendingOp> beside = follow(queue.drainFresh(takeEmptied()));
        if (!awaited && set.steps().isDue() && isLeftToProgram()) {
            promptWaits.nobodyWaits();
        }
        boolean heldBack = (awaited && !set.steps().isDue()) || patienceNanos() == 0;
        if (heldBack && !set.steps().isIdle() && !set.steps().isLeft()) {
            findCutAnew(); // the program does not wait as it did when the step was cut
        }
        // The coordinator answers a barrier with a limit beside the plan, but not from inside the data plane.
        boolean barrierBehindStep = queue.hasLimited() && !set.steps().isIdle();
        if (closing || heldBack || barrierBehindStep || plan.isToBeLeft()) {
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
        assert turn.isMine();
        List<PendingOp> fresh = queue.drainFreshOf(set.id(), takeEmptied());
        boolean any = !fresh.isEmpty();
        follow(fresh);
        lastSubmissionNanos = System.nanoTime();
        return any;
    }

    /** The list is the queue's from here on; it comes back if nothing goes wrong with what the queue hands over. */
    private List<PendingOp> takeEmptied() {
        List<PendingOp> empty = emptied;
        emptied = null;
        return empty == null ? new ArrayList<>() : empty;
    }

    /**
     * Takes operations into the steps.
     *
     * @param fresh list of the queue's, which gets it back without its operations
     * @return those that no plan has to be left for
     */
    private List<PendingOp> follow(List<PendingOp> fresh) {
        List<PendingOp> beside = List.of();
        if (!fresh.isEmpty()) {
            lastSubmissionNanos = System.nanoTime();
        }
        for (int i = 0; i < fresh.size(); i++) {
            PendingOp op = fresh.get(i);
            if (op.request().hasLimit()) {
                beside = beside.isEmpty() ? new ArrayList<>() : beside;
                beside.add(op);
            } else {
                follow(op);
            }
        }
        fresh.clear();
        emptied = fresh;
        return beside;
    }

    private void follow(PendingOp op) {
        op.announce(false);
        if (op.set() == set.id()) {
            set.steps().submitted(op);
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
        assert turn.isMine();
        if (!plan.holds() || set.steps().isDue()) {
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
        assert turn.isMine();
        if (!plan.holds()) {
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
        assert turn.isMine();
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
        return set.data().takesAnyThread(set.steps().next().device());
    }

    /** Whether this rank has something to do in the data plane. */
    boolean isDue() {
        assert turn.isMine();
        return plan.holds() && (set.steps().isLeft() || set.steps().isDue());
    }

    /** Whether the next batch can be carried out, and on any thread. */
    boolean isDueHere() {
        assert turn.isMine();
        return plan.holds() && set.steps().isDue() && takesAnyThread();
    }

    /** Whether nothing is left of what the program has submitted. */
    boolean isIdle() {
        assert turn.isMine();
        return plan.holds() && set.steps().isIdle() && !set.steps().isLeft();
    }

    /**
     * Carries the next batch out, or vetoes it.
     *
     * @return false if a rank has vetoed it: all ranks are back to negotiating, from the same batch on
     */
    boolean next() {
        assert turn.isMine();
        StaticPlan steps = set.steps();
        if (steps.isLeft()) {
            plan.leave();
            veto(steps.next());
        } else if (proposal.isPresent()) {
            veto(steps.next()); // with a batch that is due, for which the other ranks come as well
        } else if (run(steps)) {
            return true;
        }
        if (proposal.isEmpty() && batchesRun < FEW_STEPS * steps.names().size()) {
            findCutAnew(); // it does not suit another rank
        }
        left = new LeftPlan(proposal, steps.begunGroups());
        set.unlock();
        plan.end();
        return false;
    }

    private boolean run(StaticPlan steps) {
        PlannedBatch batch = steps.next();
        List<PendingOp> ops = batch.ops();
        log.enter(ops);
        Execution execution = unfinished.begin(set, ops, batch.run());
        long begun = System.nanoTime();
        if (!execution.runUnlessVetoed(batch)) {
            return false;
        }
        if (study != null) {
            study.ran(ops, begun, System.nanoTime(), steps.names()).ifPresent(better -> proposal = Optional.of(better));
        }
        batchesRun++;
        // Off the queue first: whoever waits may submit the same name as soon as it is done.
        queue.take(ops);
        unfinished.settle(execution);
        steps.advance();
        return true;
    }

    private void veto(PlannedBatch batch) {
        set.data()
                .vetoAllreduce(
                        batch.device(),
                        batch.elements(),
                        Execution.onTheWire(batch.first().how(), 1));
    }
}
