package io.hvd.engine.plan;

import io.hvd.engine.submission.Awaited;

/**
 * Lets a thread that is going to wait anyway carry out a static plan's next batches itself while the communication
 * thread sleeps: two hand-overs between threads cost more than a small allreduce through shared memory.
 *
 * <p>A thread that meets a veto ends the plan on this rank, and wakes the communication thread, which alone negotiates
 * and ends the job.
 */
public final class CallerRuns {
    private final DataPlaneLock lock;
    private final HeldPlan plan;
    private final StepFollower steps;
    // Only the thread that has the lock uses the following fields.
    private boolean vetoed;
    private Throwable broken;

    public CallerRuns(DataPlaneLock lock, HeldPlan plan, StepFollower steps) {
        this.lock = lock;
        this.plan = plan;
        this.steps = steps;
    }

    /** How much of the due work a thread has carried out. */
    public enum Taken {
        /** It has done nothing, and nothing has changed. */
        NOTHING,
        /** The communication thread must be woken for the rest. */
        PART,
        /** Nothing is left to be done. */
        ALL
    }

    /** Carries out what is due, up to this result, on the thread that is going to wait for it. */
    public Taken take(Awaited result) {
        // A callback runs within such a step on a thread that already has the lock, and must not begin another step.
        if (!plan.holds() || !lock.tryTake()) {
            return Taken.NOTHING;
        }
        try {
            if (!plan.holds() || !steps.takeInHere()) {
                return Taken.NOTHING;
            }
            return carriesOut(result) ? Taken.ALL : Taken.PART;
        } finally {
            lock.giveBack();
        }
    }

    private boolean carriesOut(Awaited result) {
        while (!result.isDone() && steps.isDueHere()) {
            try {
                if (!steps.next()) {
                    vetoed = true;
                    return false;
                }
            } catch (RuntimeException | Error e) {
                // The waiting threads have been told. The job ends as well, which only the communication thread may do.
                broken = e;
                return false;
            }
        }
        return result.isDone() && steps.isIdle() && steps.restHere();
    }

    /**
     * Whether another thread has found a veto since the last call; throws what has gone wrong on that thread. Only the
     * communication thread asks.
     */
    public boolean wasVetoed() {
        if (broken instanceof Error error) {
            throw error;
        }
        if (broken instanceof RuntimeException failed) {
            throw failed;
        }
        boolean was = vetoed;
        vetoed = false;
        return was;
    }
}
