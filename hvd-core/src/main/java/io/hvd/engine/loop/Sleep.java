package io.hvd.engine.loop;

import io.hvd.engine.plan.DataPlaneLock;
import io.hvd.engine.plan.StepFollower;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.Progress;
import java.nio.ByteBuffer;
import java.util.function.LongSupplier;

/**
 * The communication thread's sleep, during which threads of the program may work in the data plane. Only the
 * communication thread calls it.
 */
final class Sleep {
    private final Wakeup wakeup;
    private final LongSupplier progress;
    private final DataPlaneLock lock;
    private final StepFollower steps;

    /**
     * @param wakeup ends the sleep
     * @param progress see {@link Progress#make}
     */
    Sleep(Wakeup wakeup, LongSupplier progress, DataPlaneLock lock, StepFollower steps) {
        this.wakeup = wakeup;
        this.progress = progress;
        this.lock = lock;
        this.steps = steps;
    }

    /**
     * The communication thread begins to work. It keeps the lock when it ends, so that no thread works in the data
     * plane after it.
     */
    void begin() {
        lock.take(progress);
    }

    /**
     * Sleeps until there is something to do, for at most so many nanoseconds.
     *
     * @param lookNanos the time after which it looks whether the program carries out what was left to it. While the
     *     program does, the thread sleeps on without taking the lock, for which the program's thread would have to wait
     */
    void sleep(long nanos, long lookNanos, CoordinatorLink coordinator) {
        lock.giveBack();
        try {
            sleepOn(nanos, lookNanos, new Ear(coordinator));
            coordinator.listened();
        } finally {
            lock.take(progress);
            wakeup.answer();
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
            wakeup.sleep(Math.min(lookNanos, longest), ear);
            left = nanos - (System.nanoTime() - begun);
        } while (looked && left > 0 && !wakeup.isRung() && !ear.heard && (steps.batchesRun() != ran || lock.isTaken()));
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
}
