package io.hvd.engine.plan;

import io.hvd.engine.submission.PendingOp;
import io.hvd.engine.submission.TensorQueue;
import io.hvd.engine.tuning.CutAdvice;
import java.util.List;

/**
 * The static plan as the program's threads see it: whether one holds, what belongs to it, and how they ask to leave it.
 * Any thread may call the methods, except {@link #begin} and {@link #end}.
 */
public final class HeldPlan {
    static final int NONE = 0;

    private final TensorQueue queue;
    private final PlanExit exit;
    private final PromptWaits promptWaits;
    private final CutAdvice advice;
    private final boolean takesCores;

    /** Number of the plan that holds, the same on all ranks; or {@link #NONE}. */
    private volatile int number = NONE;

    private volatile boolean hasHeld;

    /**
     * @param exit takes all ranks out of a plan
     * @param promptWaits what the program does after it has submitted a step
     * @param advice learns when the program asks for results
     * @param takesCores whether batches of tensors in the host's memory keep the program from computing meanwhile
     */
    public HeldPlan(TensorQueue queue, PlanExit exit, PromptWaits promptWaits, CutAdvice advice, boolean takesCores) {
        this.queue = queue;
        this.exit = exit;
        this.promptWaits = promptWaits;
        this.advice = advice;
        this.takesCores = takesCores;
    }

    /** All ranks begin to follow a plan, which its slots already know. */
    void begin(int its) {
        hasHeld = true;
        number = its;
    }

    /** All ranks negotiate again. */
    void end() {
        number = NONE;
    }

    public boolean holds() {
        return number != NONE;
    }

    /**
     * Whether a step that is submitted at its end, as a whole, ends sooner than one that is submitted bit by bit while
     * the program computes: a plan holds or has held before, and what carries it out has only the cores of the threads
     * that compute.
     */
    public boolean stepsTravelLate() {
        return takesCores && hasHeld;
    }

    /** Whether all of these operations are part of every step. */
    public boolean plans(List<PendingOp> ops) {
        if (number == NONE) {
            return false;
        }
        for (int i = 0; i < ops.size(); i++) {
            if (!ops.get(i).slot().isPlanned()) {
                return false;
            }
        }
        return true;
    }

    CutAdvice advice() {
        return advice;
    }

    /** Whether the program waits soon after it has submitted a step. */
    public PromptWaits promptWaits() {
        return promptWaits;
    }

    /** The program has submitted operations that are all part of the plan. */
    public void submitted(List<PendingOp> ops) {
        promptWaits.submitted(ops.get(ops.size() - 1).call().submittedNanos());
    }

    /**
     * The program has submitted something that is not in the plan. The ranks leave the plan at once: they do not wait
     * until a program that computes comes to its next batch, even if this rank's communication thread is inside the
     * data plane. A barrier with a limit is the exception, as long as nothing else is under way here.
     */
    public void submittedBeside(List<PendingOp> ops) {
        int holds = number;
        if (holds != NONE && !plans(ops) && !(areLimited(ops) && queue.hasOnlyLimited())) {
            exit.ask(holds);
        }
    }

    private static boolean areLimited(List<PendingOp> ops) {
        return ops.stream().allMatch(op -> op.request().hasLimit());
    }

    /** The program waits for operations, or has learnt that they are done. */
    public void observed(List<PendingOp> ops, boolean waits) {
        if (!plans(ops)) {
            return;
        }
        if (waits) {
            promptWaits.waits();
        }
        for (int i = 0; advice.isLooking() && i < ops.size(); i++) {
            advice.observed(ops.get(i).name());
        }
    }

    /** Asks all ranks to leave the plan, if one holds. */
    public void leave() {
        int holds = number;
        if (holds != NONE) {
            exit.ask(holds);
        }
    }

    /** Whether a rank has asked to leave the plan that holds. */
    boolean isToBeLeft() {
        return exit.isAsked(number);
    }
}
