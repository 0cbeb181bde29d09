package io.hvd.engine;

import io.hvd.spi.ControlChannel;
import io.hvd.spi.Progress;
import java.util.function.LongSupplier;

/**
 * Lets a thread that is going to wait anyway carry out a static plan's next batches itself while the communication
 * thread sleeps: two hand-overs between threads cost more than a small allreduce through shared memory.
 *
 * <p>The thread that has the turn works in the data plane. The communication thread has the turn except while it
 * sleeps. A thread that meets a veto ends the plan on this rank, and wakes the communication thread, which alone
 * negotiates and ends the job.
 */
final class Shortcut {
    private final LongSupplier progress;
    private final Turn turn;
    private final HeldPlan plan;
    private final StepFollower steps;
    private boolean vetoed;
    private Throwable broken;

    /** @param progress see {@link Progress#make} */
    Shortcut(LongSupplier progress, Turn turn, HeldPlan plan, StepFollower steps) {
        this.progress = progress;
        this.turn = turn;
        this.plan = plan;
        this.steps = steps;
    }

    /**
     * The communication thread begins to work. It keeps the turn when it ends, so that no thread works in the data
     * plane after it.
     */
    void begin() {
        turn.take(progress);
    }

    /** Lets the communication thread sleep until there is something to do, for at most so many nanoseconds. */
    void sleep(ControlChannel control, long nanos, CoordinatorLine coordinator) {
        long longest = Math.min(nanos, progress.getAsLong());
        turn.giveBack();
        try {
            control.receive(longest, coordinator);
            coordinator.listened();
        } finally {
            turn.take(progress);
        }
    }

    /** How much of the due work a thread has carried out. */
    enum Taken {
        /** It has done nothing, and nothing has changed. */
        NOTHING,
        /** The communication thread must be woken for the rest. */
        PART,
        /** Nothing is left to be done. */
        ALL
    }

    /** Carries out what is due, up to this result, on the thread that is going to wait for it. */
    Taken take(Awaited result) {
        // A callback runs within such a step on a thread that already has the turn, and must not begin another step.
        if (!plan.holds() || !turn.tryTake()) {
            return Taken.NOTHING;
        }
        try {
            if (!plan.holds() || !steps.takeInHere()) {
                return Taken.NOTHING;
            }
            return carriesOut(result) ? Taken.ALL : Taken.PART;
        } finally {
            turn.giveBack();
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
    boolean wasVetoed() {
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
