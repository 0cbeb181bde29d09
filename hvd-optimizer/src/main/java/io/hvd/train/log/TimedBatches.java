package io.hvd.train.log;

import java.util.Iterator;

/** Takes the time that an iterator needs for the next batch. */
record TimedBatches<B>(Iterator<B> batches, StepClock clock) implements Iterator<B> {
    @Override
    public boolean hasNext() {
        clock.waitBegins();
        return batches.hasNext();
    }

    @Override
    public B next() {
        B batch = batches.next();
        clock.batchArrives();
        return batch;
    }
}
