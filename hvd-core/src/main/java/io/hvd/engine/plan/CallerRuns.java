package io.hvd.engine.plan;

import io.hvd.engine.loop.CoordinatorLink;
import io.hvd.engine.loop.Wakeup;
import io.hvd.engine.submission.Awaited;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.Progress;
import java.nio.ByteBuffer;
import java.util.function.LongSupplier;

/**
 * Lets a thread that is going to wait anyway carry out a static plan's next batches itself while the communication
 * thread sleeps: two hand-overs between threads cost more than a small allreduce through shared memory.
 *
 * <p>The thread that has the turn works in the data plane. The communication thread has the turn except while it
 * sleeps. A thread that meets a veto ends the plan on this rank, and wakes the communication thread, which alone
 * negotiates and ends the job.
 */
public final class CallerRuns {
    private final Wakeup bell;
    private final LongSupplier progress;
    private final DataPlaneLock turn;
    private final HeldPlan plan;
    private final StepFollower steps;
    private boolean vetoed;
    private Throwable broken;

    /**
     * @param bell ends the communication thread's sleep
     * @param progress see {@link Progress#make}
     */
    public CallerRuns(Wakeup bell, LongSupplier progress, DataPlaneLock turn, HeldPlan plan, StepFollower steps) {
        this.bell = bell;
        this.progress = progress;
        this.turn = turn;
        this.plan = plan;
        this.steps = steps;
    }

    /**
     * The communication thread begins to work. It keeps the turn when it ends, so that no thread works in the data
     * plane after it.
     */
    public void begin() {
        turn.take(progress);
    }

    /**
     * Lets the communication thread sleep until there is something to do, for at most so many nanoseconds.
     *
     * @param lookNanos the time after which it looks whether the program carries out what was left to it. While the
     *     program does, the thread sleeps on without taking the turn, for which the program's thread would have to wait
     */
    public void sleep(long nanos, long lookNanos, CoordinatorLink coordinator) {
        turn.giveBack();
        try {
            sleepOn(nanos, lookNanos, new Ear(coordinator));
            coordinator.listened();
        } finally {
            turn.take(progress);
            bell.answer();
        }
    }

    private void sleepOn(long nanos, long lookNanos, Ear ear) {
        long begun = System.nanoTime();
        long left = nanos;
        boolean looked;
        long ran;
        do {
            ran = steps.batchesRun();
            long longest = Math.min(left, progress.getAsLong());
            looked = lookNanos < longest;
            bell.sleep(Math.min(lookNanos, longest), ear);
            left = nanos - (System.nanoTime() - begun);
        } while (looked && left > 0 && !bell.isRung() && !ear.heard && (steps.batchesRun() != ran || turn.isTaken()));
    }

    /** Hands over to the coordinator what arrives, and remembers that something has. */
    private static final class Ear implements ControlChannel.Inbox {
        private final CoordinatorLink coordinator;
        private boolean heard;

        Ear(CoordinatorLink coordinator) {
            this.coordinator = coordinator;
        }

        @Override
        public void message(int fromRank, ByteBuffer message) {
            heard = true;
            coordinator.message(fromRank, message);
        }

        @Override
        public void lost(int rank, String why) {
            heard = true;
            coordinator.lost(rank, why);
        }
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
