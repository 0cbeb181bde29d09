package io.hvd.train.log;

import java.util.function.LongSupplier;

/**
 * Takes the times of one rank's steps: how long each took, how long it waited for its batch, and how long for the exchange of the
 * gradients. The program calls it on the thread that trains, in turn {@link #waitBegins}, {@link #batchArrives} and {@link
 * #stepEnds}; what lies between a step and the next {@code waitBegins}, such as an evaluation, belongs to no step.
 */
public final class StepClock {
    private final LongSupplier nanos;
    private long from;
    private long arrived;
    private StepTimes times = StepTimes.NONE;

    /** Begins without any step. */
    public StepClock() {
        this(System::nanoTime);
    }

    StepClock(LongSupplier nanos) {
        this.nanos = nanos;
    }

    /** The program is about to ask for a batch. */
    public void waitBegins() {
        from = nanos.getAsLong();
    }

    /** The batch is there. */
    public void batchArrives() {
        arrived = nanos.getAsLong();
    }

    /**
     * The step is done.
     *
     * @param samples of this rank's batch
     * @param exchangeNanos what it waited for gradients, as {@code optimizer.lastStep().exposedNanos()} says; 0 if it did not
     *     exchange any
     */
    public void stepEnds(int samples, long exchangeNanos) {
        long now = nanos.getAsLong();
        times = times.plus(new StepTimes(1, samples, now - from, arrived - from, exchangeNanos));
    }

    /** The times since this was last called. */
    StepTimes take() {
        StepTimes taken = times;
        times = StepTimes.NONE;
        return taken;
    }
}
