package io.hvd.data;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;

/**
 * One pass over the data: this rank's batches of one epoch, in the sampler's order.
 *
 * <p>The batches in flight stand in a queue in their order. The head is waited for and handed over, and only then a
 * further one is given to the workers: so their number is bounded, and a worker never waits for room.
 *
 * <p>One thread iterates. Closing before the end is optional: the loader's next epoch and the loader's close do it too.
 *
 * @param <B> a batch
 */
public final class Epoch<B> implements EpochBatches.Pass<B>, AutoCloseable {

    private final BatchPlan<?, B> plan;
    private final int batches;
    private final Executor executor;
    private final int ahead;
    private final Handover handover;
    private final Progress progress;

    private final Deque<PendingBatch<B>> inFlight = new ArrayDeque<>();
    private int submitted;
    private int delivered;
    private boolean ended;
    private String endedFromOutside;

    /** The part of the epoch that is done after so many of so many batches. */
    interface Progress {
        double after(int taken, int of);
    }

    /**
     * With {@code ahead} 0 a batch is submitted when it is asked for.
     *
     * @param handover is told of each {@link #next}; the loader's epochs share it
     */
    Epoch(BatchPlan<?, B> plan, int batches, Executor executor, int ahead, Handover handover, Progress progress) {
        this.plan = plan;
        this.batches = batches;
        this.executor = executor;
        this.ahead = ahead;
        this.handover = handover;
        this.progress = progress;
        submitUpTo(ahead);
    }

    @Override
    public int batches() {
        return batches;
    }

    @Override
    public double progress(int taken, int of) {
        return progress.after(taken, of);
    }

    /**
     * Whether batches are left. False after {@link #close} and after a failure; an epoch that the loader ended says
     * true, so that the loop goes on to {@link #next} and learns why.
     */
    @Override
    public synchronized boolean hasNext() {
        return delivered < batches && (!ended || endedFromOutside != null);
    }

    /**
     * Hands over the next batch, waiting for it if need be. It is the caller's from now on.
     *
     * @throws DataLoaderException if the batch could not be made, or the thread was interrupted while waiting (the
     *     interrupt status stays set); the epoch is over then
     * @throws IllegalStateException if the loader was closed or began another epoch
     */
    @Override
    public B next() {
        try (Handover.Wait wait = handover.begin()) {
            submitUpTo(Math.max(1, ahead));
            PendingBatch<B> head = head();
            B batch = await(head);
            wait.ended(head.number());
            deliver(head);
            handover.taken();
            submitUpTo(ahead);
            return batch;
        }
    }

    /** Whether the next batch is made already, or has failed. */
    @Override
    public synchronized boolean isNextReady() {
        return !inFlight.isEmpty() && inFlight.getFirst().isMade();
    }

    /** Ends the epoch. Batches that were not taken are dropped, and closed if they are {@link AutoCloseable}. */
    @Override
    public void close() {
        end(null);
    }

    /** Ends the epoch while another thread may still iterate over it; that thread is told the reason. */
    void end(String reason) {
        List<PendingBatch<B>> untaken;
        synchronized (this) {
            if (ended) {
                return;
            }
            ended = true;
            endedFromOutside = reason;
            untaken = List.copyOf(inFlight);
            inFlight.clear();
        }
        untaken.forEach(PendingBatch::abandon);
    }

    private void submitUpTo(int wanted) {
        for (var batch = nextToSubmit(wanted); batch != null; batch = nextToSubmit(wanted)) {
            submit(batch);
        }
    }

    /** Ends the epoch if no thread can be started, since the batch would otherwise stay in the queue for ever. */
    private void submit(PendingBatch<B> batch) {
        try {
            executor.execute(batch);
        } catch (Throwable e) {
            close();
            throw e;
        }
    }

    private synchronized PendingBatch<B> nextToSubmit(int wanted) {
        if (ended || submitted == batches || inFlight.size() >= wanted) {
            return null;
        }
        var batch = new PendingBatch<>(plan, submitted++);
        inFlight.addLast(batch);
        return batch;
    }

    private synchronized PendingBatch<B> head() {
        if (!hasNext()) {
            throw new NoSuchElementException("the epoch has no batch left: " + delivered + " of " + batches + " taken");
        }
        failIfEndedFromOutside();
        return inFlight.getFirst();
    }

    private B await(PendingBatch<B> head) {
        try {
            return head.await();
        } catch (InterruptedException e) {
            close();
            Thread.currentThread().interrupt();
            throw DataLoaderException.interrupted(head.number(), e);
        } catch (CancellationException e) {
            throw endedWhileWaiting();
        } catch (ExecutionException e) {
            close();
            throw DataLoaderException.onCallersThread(head.number(), e.getCause());
        }
    }

    /** Takes a batch out of the queue. It then belongs to the caller, and the end of the epoch does not close it. */
    private synchronized void deliver(PendingBatch<B> head) {
        if (inFlight.peekFirst() != head) {
            throw endedWhileWaiting();
        }
        inFlight.removeFirst();
        delivered++;
    }

    private synchronized IllegalStateException endedWhileWaiting() {
        failIfEndedFromOutside();
        return new IllegalStateException("the epoch was closed while its next batch was awaited");
    }

    private void failIfEndedFromOutside() {
        if (endedFromOutside != null) {
            throw new IllegalStateException(
                    "the epoch ended after " + delivered + " of " + batches + " batches: " + endedFromOutside);
        }
    }
}
