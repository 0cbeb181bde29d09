package io.hvd.engine.plan;

import io.hvd.engine.submission.PendingOp;
import io.hvd.engine.submission.TensorQueue;
import java.util.ArrayList;
import java.util.List;

/**
 * Takes the operations that the program has submitted into the steps of a static plan. Only the thread that has the
 * {@link DataPlaneLock} calls it.
 */
final class StepIntake {
    private final TensorQueue queue;
    private final int set;
    private long lastSubmissionNanos;
    /** An empty list that the queue takes in exchange for the operations that it hands over. */
    private List<PendingOp> emptied = new ArrayList<>();

    /** @param set the process set whose steps they are */
    StepIntake(TensorQueue queue, int set) {
        this.queue = queue;
        this.set = set;
    }

    /** A plan begins. */
    void begin() {
        lastSubmissionNanos = System.nanoTime();
    }

    /** Time since operations were last taken in. */
    long nanosSinceSubmission() {
        return System.nanoTime() - lastSubmissionNanos;
    }

    /** @return operations with a limit, which go to the coordinator: the ranks need not leave the plan for them */
    List<PendingOp> takeIn(StaticPlan steps) {
        return follow(queue.drainFresh(takeEmptied()), steps);
    }

    /**
     * Takes fresh operations in on a thread that waits for the last of them.
     *
     * @return false if there are none, or if some of them need the communication thread; all of them then stay in the
     *     queue
     */
    boolean takeInHere(StaticPlan steps) {
        List<PendingOp> fresh = queue.drainFreshOf(set, takeEmptied());
        boolean any = !fresh.isEmpty();
        follow(fresh, steps);
        lastSubmissionNanos = System.nanoTime();
        return any;
    }

    /** Gives the empty list away; {@link #follow(List, StaticPlan)} sets it again to the list that comes from the queue. */
    private List<PendingOp> takeEmptied() {
        List<PendingOp> empty = emptied;
        emptied = null;
        return empty == null ? new ArrayList<>() : empty;
    }

    /** @param fresh a list from the queue, emptied here so that the queue can take it again */
    private List<PendingOp> follow(List<PendingOp> fresh, StaticPlan steps) {
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
                follow(op, steps);
            }
        }
        fresh.clear();
        emptied = fresh;
        return beside;
    }

    private void follow(PendingOp op, StaticPlan steps) {
        op.announce(false);
        if (op.set() == set) {
            steps.submitted(op);
        } else {
            steps.leave();
        }
    }
}
