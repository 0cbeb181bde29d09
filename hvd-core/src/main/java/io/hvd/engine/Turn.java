package io.hvd.engine;

import java.util.concurrent.locks.ReentrantLock;

/**
 * The right to work in the data plane and on the steps of a static plan, which one thread has at a time. The communication
 * thread has it but for the time that it sleeps.
 */
final class Turn {
    private final ReentrantLock lock = new ReentrantLock();

    /** Waits for the turn. */
    void take() {
        lock.lock();
    }

    /** Takes the turn if nobody has it or waits for it, and this thread does not have it already. */
    boolean tryTake() {
        return !lock.isHeldByCurrentThread() && !lock.hasQueuedThreads() && lock.tryLock();
    }

    void giveBack() {
        lock.unlock();
    }

    /** For assertions: whether the thread that asks has the turn. */
    boolean isMine() {
        return lock.isHeldByCurrentThread();
    }
}
