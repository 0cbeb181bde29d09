package io.hvd.optimizer.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.training.GradientCollector;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * A gradient collector of one rank. DJL's engine has one at a time in a process, and so ranks that are threads take turns from forward to
 * the end of backward; a rank that is a process never waits. The thread that
 * has made a collector closes it.
 */
final class CollectorTurn implements GradientCollector {
    private static final ReentrantLock TURN = new ReentrantLock();

    private final Supplier<GradientCollector> make;
    private final Runnable onBackward;
    /** Null while another rank may have the turn. */
    private GradientCollector inner;

    private CollectorTurn(Supplier<GradientCollector> make, Runnable onBackward) {
        this.make = make;
        this.onBackward = onBackward;
    }

    static CollectorTurn take(Supplier<GradientCollector> make, Runnable onBackward) {
        CollectorTurn turn = new CollectorTurn(make, onBackward);
        turn.take();
        return turn;
    }

    private void take() {
        TURN.lock();
        try {
            inner = make.get();
        } catch (RuntimeException | Error e) {
            TURN.unlock();
            throw e;
        }
    }

    boolean isOpen() {
        return inner != null;
    }

    /** Does what all ranks must come to, before anything has been collected, while another rank may have the turn. */
    void without(Runnable collective) {
        close();
        collective.run();
        take();
    }

    @Override
    public void backward(NDArray target) {
        inner.backward(target);
        onBackward.run();
    }

    @Override
    public void zeroGradients() {
        inner.zeroGradients();
    }

    @Override
    public void close() {
        if (isOpen()) {
            try {
                inner.close();
            } finally {
                inner = null;
                TURN.unlock();
            }
        }
    }
}
