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

    private final GradientCollector inner;
    private final Runnable onBackward;
    private boolean closed;

    private CollectorTurn(GradientCollector inner, Runnable onBackward) {
        this.inner = inner;
        this.onBackward = onBackward;
    }

    static CollectorTurn take(Supplier<GradientCollector> make, Runnable onBackward) {
        TURN.lock();
        try {
            return new CollectorTurn(make.get(), onBackward);
        } catch (RuntimeException | Error e) {
            TURN.unlock();
            throw e;
        }
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
        if (!closed) {
            closed = true;
            try {
                inner.close();
            } finally {
                TURN.unlock();
            }
        }
    }
}
