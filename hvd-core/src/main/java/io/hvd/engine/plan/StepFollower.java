package io.hvd.engine.plan;

import io.hvd.engine.execution.DataLog;
import io.hvd.engine.execution.DeviceWork;
import io.hvd.engine.execution.Execution;
import io.hvd.engine.execution.SetMember;
import io.hvd.engine.message.LeftPlan;
import io.hvd.engine.plan.StaticPlan.PlannedBatch;
import io.hvd.engine.submission.PendingOp;
import io.hvd.engine.submission.TensorQueue;
import io.hvd.engine.tuning.Autotuner;
import io.hvd.engine.tuning.StepStudy;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Takes this rank through the steps of a static plan. Operations that the program submits become part of the steps; any
 * other request makes the rank leave the plan. Only the thread that has the {@link DataPlaneLock} calls this class.
 */
public final class StepFollower {
    /** How long the last batch of a step is left for the program's own thread to run. */
    private static final long LEFT_TO_PROGRAM_NANOS = 5_000_000;
    /** A plan that is left after fewer steps than this does not suit some rank: its step is cut anew. */
    private static final int FEW_STEPS = 3;
    /** How long an operation may lie in an incomplete batch before it is negotiated. */
    private static final long PATIENCE_NANOS = 1_000_000_000;

    private final DataPlaneLock turn;
    private final SetMember set;
    private final HeldPlan plan;
    private final TensorQueue queue;
    private final DataLog log;
    private final DeviceWork unfinished;
    /** The study of the steps on rank 0; null on the other ranks. */
    private final StepStudy study;
    /** On rank 0 if settings are tuned, else null. */
    private final Autotuner tuner;

    /**
     * Whether the communication thread sleeps only for a moment, during which it leaves the last batch to the program.
     */
    private boolean looksAgain;

    private final PromptWaits promptWaits;
    private Optional<List<List<String>>> proposal = Optional.empty();
    private LeftPlan left;
    private long lastSubmissionNanos;
    /** The number of batches that the plan has run; any thread may read it. */
    private final AtomicLong batchesRun = new AtomicLong();

    /** An empty list that the queue takes in exchange for the operations that it hands over. */
    private List<PendingOp> emptied = new ArrayList<>();

    /**
     * @param set the process set of all ranks
     * @param plan the state of the plan that the program's threads see
     * @param unfinished takes over the batches that have been carried out
     * @param study the study of the steps on rank 0; null on the other ranks
     * @param tuner on rank 0 if settings are tuned, else null
     */
    public StepFollower(
            DataPlaneLock turn,
            SetMember set,
            HeldPlan plan,
            TensorQueue queue,
            DataLog log,
            DeviceWork unfinished,
            StepStudy study,
            Autotuner tuner) {
        this.tuner = tuner;
        this.turn = turn;
        this.set = set;
        this.plan = plan;
        this.promptWaits = plan.promptWaits();
        this.queue = queue;
        this.log = log;
        this.unfinished = unfinished;
        this.study = study;
    }

    /** Begins a static plan: from here on the ranks carry out the step without asking the coordinator. */
    public void begin(List<List<String>> batches) {
        assert turn.isMine();
        set.lock(batches, queue.announced(set.id()));
        lastSubmissionNanos = System.nanoTime();
        proposal = Optional.empty();
        batchesRun.setRelease(0);
        if (study != null) {
            study.begin(batches);
        }
        if (tuner != null) {
            tuner.planBegan();
        }
        plan.begin(set.epoch());
    }

    /** The plan that was left most recently. */
    public LeftPlan left() {
        assert turn.isMine();
        return left;
    }

    /**
     * Takes the operations that the program has submitted since the last call into the steps.
     *
     * @param closing true when the rank has nothing more to submit
     * @return operations that go to the coordinator nevertheless, because the ranks do not meet in the data plane for
     *     them
     */
    public List<PendingOp> takeIn(boolean closing) {
        assert turn.isMine();
        // The order matters: a thread that waits has submitted its operations before, so the drain below includes them.
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
     * Takes fresh operations into the steps on a thread that waits for the last of them.
     *
     * @return false if there are none, or if some of them need the communication thread; all of them then stay in the
     *     queue
     */
    boolean takeInHere() {
        assert turn.isMine();
        List<PendingOp> fresh = queue.drainFreshOf(set.id(), takeEmptied());
        boolean any = !fresh.isEmpty();
        follow(fresh);
        lastSubmissionNanos = System.nanoTime();
        return any;
    }

    /** Gives the empty list away; {@link #follow(List)} sets it again to the list that comes from the queue. */
    private List<PendingOp> takeEmptied() {
        List<PendingOp> empty = emptied;
        emptied = null;
        return empty == null ? new ArrayList<>() : empty;
    }

    /**
     * Takes operations into the steps.
     *
     * @param fresh a list from the queue, emptied here so that the queue can take it again
     * @return the operations with a limit, for which the ranks need not leave the plan
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
     * Time in nanoseconds until the rank gives up an incomplete batch, so that its operations are not held back for
     * ever. It also gives up the plan when the answer to an operation with a limit is overdue, because rank 0 waits in
     * the data plane and cannot answer. Fresh operations are not known here, so the caller looks again after this time.
     */
    public long patienceNanos() {
        assert turn.isMine();
        if (!plan.holds() || set.steps().isDue()) {
            return Long.MAX_VALUE;
        }
        long step = set.steps().isIdle()
                ? PATIENCE_NANOS
                : Math.max(0, PATIENCE_NANOS - (System.nanoTime() - lastSubmissionNanos));
        return Math.min(step, queue.nanosUntilOverdue());
    }

    /**
     * Time in nanoseconds after which the communication thread looks whether the program has carried out what was left
     * to it; {@link Long#MAX_VALUE} if nothing is left to it.
     */
    public long lookNanos() {
        assert turn.isMine();
        return looksAgain ? LEFT_TO_PROGRAM_NANOS : Long.MAX_VALUE;
    }

    /** The number of batches that the plan has run; any thread may ask. */
    long batchesRun() {
        return batchesRun.getAcquire();
    }

    /**
     * Prepares the communication thread's sleep: a part of the next batch does not wake it.
     *
     * @return false if the whole batch has been submitted meanwhile, so that the thread must not sleep
     */
    public boolean rest() {
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
     * Does as {@link #rest} on a thread that has carried out what was due, while the communication thread sleeps for a
     * time that it has chosen itself.
     */
    boolean restHere() {
        assert turn.isMine();
        return queue.rest(
                looksAgain && isLeftToProgram()
                        ? Integer.MAX_VALUE
                        : set.steps().missing());
    }

    /**
     * Whether a thread of the program is expected to carry out the next batch as it waits. The answer is no once the
     * steps have paused, so that the communication thread does not wake up every few milliseconds.
     */
    private boolean isLeftToProgram() {
        return promptWaits.areExpected()
                && System.nanoTime() - lastSubmissionNanos < PATIENCE_NANOS
                && set.steps().isAtLastBatch()
                && !set.steps().next().endsInBlockingCall()
                && takesAnyThread();
    }

    private boolean takesAnyThread() {
        return set.data().takesAnyThread(set.steps().next().device());
    }

    /** Whether this rank has something to do in the data plane. */
    public boolean isDue() {
        assert turn.isMine();
        return plan.holds() && (set.steps().isLeft() || set.steps().isDue());
    }

    /** Whether the next batch can be carried out, and on any thread. */
    boolean isDueHere() {
        assert turn.isMine();
        return plan.holds() && set.steps().isDue() && takesAnyThread();
    }

    /** Whether no submitted operation is still to be carried out. */
    boolean isIdle() {
        assert turn.isMine();
        return plan.holds() && set.steps().isIdle() && !set.steps().isLeft();
    }

    /**
     * Carries out the next batch, or vetoes it.
     *
     * @return false if a rank has vetoed it; all ranks then negotiate again, beginning with the same batch
     */
    public boolean next() {
        assert turn.isMine();
        StaticPlan steps = set.steps();
        if (steps.isLeft()) {
            plan.leave();
            veto(steps.next());
        } else if (proposal.isPresent()) {
            veto(steps.next()); // this batch is due, so the other ranks come to it as well
        } else if (run(steps)) {
            return true;
        }
        if (proposal.isEmpty()
                && batchesRun.getPlain() < FEW_STEPS * steps.names().size()) {
            findCutAnew(); // the plan does not suit another rank
        }
        left = new LeftPlan(proposal, steps.begunGroups());
        set.unlock();
        plan.end();
        if (tuner != null) {
            tuner.planEnded();
        }
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
        batchesRun.setRelease(batchesRun.getPlain() + 1);
        if (tuner != null && steps.isAtLastBatch() && tuner.ranStep(steps.bytes(), System.nanoTime())) {
            proposal = Optional.of(study.cut(tuner.wanted()));
        }
        // The operations leave the queue first: a waiting thread may submit the same names as soon as they are done.
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
