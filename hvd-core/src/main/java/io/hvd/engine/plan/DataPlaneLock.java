package io.hvd.engine.plan;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/**
 * The right to work in the data plane and on the steps of a static plan, which one thread has at a time. The
 * communication thread has it except while it sleeps.
 */
public final class DataPlaneLock {
    private final ReentrantLock lock = new ReentrantLock();

    /**
     * Waits for the turn.
     *
     * @param progress moves on what this rank has sent while another of its threads has the turn and waits for other
     *     ranks; returns the nanoseconds after which it must be called again
     */
    public void take(LongSupplier progress) {
        boolean interrupted = false;
        while (!lock.isHeldByCurrentThread()) {
            try {
                lock.tryLock(progress.getAsLong(), TimeUnit.NANOSECONDS);
            } catch (InterruptedException e) {
                // the program has interrupted it; the thread that has the turn gives it back nevertheless
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Takes the turn if no thread has it or waits for it. */
    boolean tryTake() {
        return !lock.isHeldByCurrentThread() && !lock.hasQueuedThreads() && lock.tryLock();
    }

    /** Whether some thread has it at the moment; any thread may ask. */
    public boolean isTaken() {
        return lock.isLocked();
    }

    public void giveBack() {
        lock.unlock();
    }

    /** For assertions: whether the thread that asks has the turn. */
    boolean isMine() {
        return lock.isHeldByCurrentThread();
    }
}
