package io.hvd.engine;

import io.hvd.spi.ControlChannel;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Lets a thread that is going to wait anyway carry out a static plan's next batches itself while the communication
 * thread sleeps: two hand-overs between threads cost more than a small allreduce through shared memory.
 *
 * <p>Whoever has the turn works in the data plane. The communication thread has it but for the time that it sleeps, and
 * alone leaves a plan and ends the job; whoever else comes upon a reason for it wakes it.
 */
final class Shortcut {
    private final ReentrantLock turn = new ReentrantLock();
    private final StepFollower steps;
    private final Runnable wakeUp;
    private boolean vetoed;
    private Throwable broken;

    /** @param wakeUp ends a sleep of the communication thread */
    Shortcut(StepFollower steps, Runnable wakeUp) {
        this.steps = steps;
        this.wakeUp = wakeUp;
    }

    /** The communication thread begins to work. It keeps the turn when it ends: nobody works in the data plane after it. */
    void begin() {
        turn.lock();
    }

    /** The communication thread sleeps until there is something to do. */
    void sleep(ControlChannel control, long nanos, ControlChannel.Inbox inbox) {
        turn.unlock();
        try {
            control.receive(nanos, inbox);
        } finally {
            turn.lock();
        }
    }

    /**
     * A thread that is going to wait for this result carries out what is due, up to it.
     *
     * @return true if there is nothing left to wake the communication thread for
     */
    boolean take(CompletableFuture<Outcome> result) {
        // Nor may a callback, which runs within such a step, begin another one.
        if (!steps.follows() || turn.isHeldByCurrentThread() || turn.hasQueuedThreads() || !turn.tryLock()) {
            return false;
        }
        try {
            return steps.follows() && steps.takeInHere() && carriesOut(result);
        } finally {
            turn.unlock();
        }
    }

    private boolean carriesOut(CompletableFuture<Outcome> result) {
        while (!result.isDone() && steps.isDueHere()) {
            try {
                if (!steps.next()) {
                    vetoed = true;
                    wakeUp.run();
                    return false;
                }
            } catch (RuntimeException | Error e) {
                // Those who wait have been told; it is the job's end as well, which is not this thread's business.
                broken = e;
                wakeUp.run();
                return false;
            }
        }
        return result.isDone() && steps.isIdle() && steps.rest();
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
