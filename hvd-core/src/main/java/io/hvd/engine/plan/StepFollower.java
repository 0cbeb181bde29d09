package io.hvd.engine.plan;

import io.hvd.engine.execution.DataLog;
import io.hvd.engine.execution.DeviceWork;
import io.hvd.engine.execution.Execution;
import io.hvd.engine.execution.PlannedBatch;
import io.hvd.engine.execution.SetMember;
import io.hvd.engine.message.LeftPlan;
import io.hvd.engine.submission.PendingOp;
import io.hvd.engine.submission.TensorQueue;
import io.hvd.engine.tuning.CutAdvice;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Takes this rank through the steps of a static plan, as {@link StepDecision} says. Operations that the program submits
 * become part of the steps; any other request makes the rank leave the plan. Only the thread that has the {@link
 * DataPlaneLock} calls this class.
 */
public final class StepFollower {
    private final DataPlaneLock lock;
    private final SetMember set;
    private final HeldPlan plan;
    private final TensorQueue queue;
    private final StepIntake intake;
    private final DataLog log;
    private final DeviceWork deviceWork;
    private final CutAdvice advice;
    private final PromptWaits promptWaits;

    /**
     * Whether the communication thread sleeps only for a moment, during which it leaves the last batch to the program.
     */
    private boolean looksAgain;

    /** The steps of the plan that holds, or null. */
    private StaticPlan steps;

    private LeftPlan left;
    /** The number of batches that the plan has run; any thread may read it. */
    private final AtomicLong batchesRun = new AtomicLong();

    /**
     * @param set the process set of all ranks
     * @param plan the state of the plan that the program's threads see
     * @param deviceWork takes over the batches that have been carried out
     */
    public StepFollower(
            DataPlaneLock lock, SetMember set, HeldPlan plan, TensorQueue queue, DataLog log, DeviceWork deviceWork) {
        this.lock = lock;
        this.set = set;
        this.plan = plan;
        this.queue = queue;
        this.intake = new StepIntake(queue, set.id());
        this.log = log;
        this.deviceWork = deviceWork;
        this.advice = plan.advice();
        this.promptWaits = plan.promptWaits();
    }

    /** Begins a static plan: from here on the ranks carry out the step without asking the coordinator. */
    public void begin(List<List<String>> batches) {
        assert lock.isMine();
        List<PendingOp> announced = queue.announced(set.id());
        steps = new StaticPlan(set.beginPlan(batches), set.size());
        announced.forEach(steps::submitted);
        intake.begin();
        batchesRun.setRelease(0);
        advice.begin(batches);
        plan.begin(set.epoch());
    }

    /** The plan that was left most recently. */
    public LeftPlan left() {
        assert lock.isMine();
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
        assert lock.isMine();
        // The order matters: a thread that waits has submitted its operations before, so the intake includes them.
        boolean awaited = queue.isAwaited();
        List<PendingOp> beside = intake.takeIn(steps);
        boolean due = steps.isDue();
        if (!awaited && due && isLeftToProgram()) {
            promptWaits.nobodyWaits();
        }
        boolean heldBack = StepDecision.isHeldBack(awaited, due, patienceNanos());
        if (heldBack && !steps.isIdle() && !steps.isLeft()) {
            advice.startAnew(); // the program does not wait as it did when the step was cut
        }
        // The coordinator answers a barrier with a limit beside the plan, but not from inside the data plane.
        boolean barrierBehindStep = queue.hasLimited() && !steps.isIdle();
        if (closing || heldBack || barrierBehindStep || plan.isToBeLeft()) {
            steps.leave();
        }
        return beside;
    }

    /** See {@link StepIntake#takeInHere}. */
    boolean takeInHere() {
        assert lock.isMine();
        return intake.takeInHere(steps);
    }

    /**
     * Time in nanoseconds until the rank gives up an incomplete batch, so that its operations are not held back for
     * ever. It also gives up the plan when the answer to an operation with a limit is overdue, because rank 0 waits in
     * the data plane and cannot answer. Fresh operations are not known here, so the caller looks again after this time.
     */
    public long patienceNanos() {
        assert lock.isMine();
        if (!plan.holds() || steps.isDue()) {
            return Long.MAX_VALUE;
        }
        long lying = steps.isIdle() ? 0 : intake.nanosSinceSubmission();
        return StepDecision.patienceNanos(lying, queue.nanosUntilOverdue());
    }

    /**
     * Time in nanoseconds after which the communication thread looks whether the program has carried out what was left
     * to it; {@link Long#MAX_VALUE} if nothing is left to it.
     */
    public long lookNanos() {
        assert lock.isMine();
        return looksAgain ? promptWaits.leftNanos() : Long.MAX_VALUE;
    }

    /** The number of batches that the plan has run; any thread may ask. */
    public long batchesRun() {
        return batchesRun.getAcquire();
    }

    /**
     * Prepares the communication thread's sleep: a part of the next batch does not wake it.
     *
     * @return false if the whole batch has been submitted meanwhile, so that the thread must not sleep
     */
    public boolean rest() {
        assert lock.isMine();
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
        assert lock.isMine();
        return queue.rest(looksAgain && isLeftToProgram() ? Integer.MAX_VALUE : steps.missing());
    }

    /** Whether a thread of the program is expected to carry out the next batch as it waits. */
    private boolean isLeftToProgram() {
        return promptWaits.areExpected()
                && StepDecision.isLeftToProgram(
                        steps.isAtLastBatch(), steps.next().endsInBlockingCall(), intake.nanosSinceSubmission())
                && takesAnyThread();
    }

    private boolean takesAnyThread() {
        return set.data().takesAnyThread(steps.next().device());
    }

    /** Whether this rank has something to do in the data plane. */
    public boolean isDue() {
        assert lock.isMine();
        return plan.holds() && (steps.isLeft() || steps.isDue());
    }

    /** Whether the next batch can be carried out, and on any thread. */
    boolean isDueHere() {
        assert lock.isMine();
        return plan.holds() && steps.isDue() && takesAnyThread();
    }

    /** Whether no submitted operation is still to be carried out. */
    boolean isIdle() {
        assert lock.isMine();
        return plan.holds() && steps.isIdle() && !steps.isLeft();
    }

    /**
     * Carries out the next batch, or vetoes it.
     *
     * @return false if a rank has vetoed it; all ranks then negotiate again, beginning with the same batch
     */
    public boolean next() {
        assert lock.isMine();
        switch (StepDecision.of(steps.isLeft(), advice.proposal().isPresent())) {
            case RUN -> {
                if (run()) {
                    return true;
                }
            }
            case LEAVE -> {
                plan.leave();
                veto(steps.next());
            }
            case VETO -> veto(steps.next()); // this batch is due, so the other ranks come to it as well
        }
        end();
        return false;
    }

    private boolean run() {
        PlannedBatch batch = steps.next();
        List<PendingOp> ops = batch.ops();
        log.enter(ops);
        Execution execution = deviceWork.begin(set, ops, batch.run());
        long begun = System.nanoTime();
        if (!execution.runUnlessVetoed(batch)) {
            return false;
        }
        advice.ran(ops, begun, steps.names());
        batchesRun.setRelease(batchesRun.getPlain() + 1);
        if (steps.isAtLastBatch()) {
            advice.endStep(steps.bytes());
        }
        // The operations leave the queue first: a waiting thread may submit the same names as soon as they are done.
        queue.take(ops);
        deviceWork.settle(execution);
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

    /** Ends the plan: all ranks negotiate again. */
    private void end() {
        if (advice.proposal().isEmpty()
                && !StepDecision.hasSuited(batchesRun.getPlain(), steps.names().size())) {
            advice.startAnew(); // the plan does not suit another rank
        }
        left = new LeftPlan(advice.proposal(), steps.begunGroups());
        set.endPlan();
        steps.end();
        steps = null;
        plan.end();
        advice.end();
    }
}
