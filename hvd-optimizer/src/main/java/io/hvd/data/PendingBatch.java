package io.hvd.data;

import io.hvd.log.HvdLogger;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/**
 * A batch on its way from a worker to the caller.
 *
 * <p>Its future settles once: with the batch, with a failure, or abandoned. The thread that settles it too late
 * closes the batch, so a batch that holds native memory either belongs to the caller or is closed here.
 */
final class PendingBatch<B> implements Runnable {

    private static final HvdLogger LOG = HvdLogger.of(PendingBatch.class);

    private final BatchPlan<?, B> plan;
    private final int number;
    private final CompletableFuture<B> result = new CompletableFuture<>();

    PendingBatch(BatchPlan<?, B> plan, int number) {
        this.plan = plan;
        this.number = number;
    }

    int number() {
        return number;
    }

    /** Makes the batch; runs once, on a worker or on the caller's thread. */
    @Override
    public void run() {
        if (result.isDone()) {
            return;
        }
        try {
            B batch = plan.make(number, result::isDone);
            if (!result.complete(batch)) {
                dispose(batch);
            }
        } catch (Throwable failure) {
            result.completeExceptionally(failure);
        }
    }

    boolean isMade() {
        return result.isDone();
    }

    /** Waits for the batch; throws CancellationException if it is abandoned meanwhile. */
    B await() throws InterruptedException, ExecutionException {
        return result.get();
    }

    /** Abandons the batch, which will not be taken any more; its worker stops before the next sample. */
    void abandon() {
        result.cancel(false);
        if (!result.isCompletedExceptionally()) {
            dispose(result.join());
        }
    }

    private void dispose(B batch) {
        if (batch instanceof AutoCloseable closeable) {
            try {
                closeable.close();
            } catch (Exception e) {
                LOG.warn("batch {}, which nobody took, could not be closed", number, e);
            }
        }
    }
}
