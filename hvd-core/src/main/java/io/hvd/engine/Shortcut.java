package io.hvd.engine;

import io.hvd.spi.ControlChannel;
import io.hvd.spi.Progress;
import java.util.function.LongSupplier;

/**
 * Lets a thread that is going to wait anyway carry out a static plan's next batches itself while the communication
 * thread sleeps: two hand-overs between threads cost more than a small allreduce through shared memory.
 *
 * <p>Whoever has the turn works in the data plane. The communication thread has it but for the time that it sleeps, and
 * alone leaves a plan and ends the job; whoever else comes upon a reason for it wakes it.
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

    /** The communication thread begins to work. It keeps the turn when it ends: nobody works in the data plane after it. */
    void begin() {
        turn.take(progress);
    }

    /** The communication thread sleeps until there is something to do. */
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

    /** How far a thread has come with what is due. */
    enum Taken {
        /** Nothing was its business; all is as it was. */
        NOTHING,
        /** The communication thread must be woken for the rest. */
        PART,
        /** Nothing is left to be done. */
        ALL
    }

    /** A thread that is going to wait for this result carries out what is due, up to it. */
    Taken take(Awaited result) {
        // A callback, which runs within such a step, has the turn already and must not begin another one.
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
                // Those who wait have been told; it is the job's end as well, which is not this thread's business.
                broken = e;
                return false;
            }
        }
        return result.isDone() && steps.isIdle() && steps.restHere();
    }

    /** Whether a plan has been left on another thread since; throws what has gone wrong there. The communication thread asks. */
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
