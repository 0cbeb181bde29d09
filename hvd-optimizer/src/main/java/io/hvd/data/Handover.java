package io.hvd.data;

import java.util.concurrent.atomic.AtomicLong;

/** What a loader keeps of the batches that its epochs hand over. One thread iterates, any thread may ask for the time. */
final class Handover {
    private final AtomicLong waitedNanos = new AtomicLong();
    private final Runnable taken;

    /** @param taken is called for each batch that was handed over, on the thread that iterates */
    Handover(Runnable taken) {
        this.taken = taken;
    }

    void waited(long nanos) {
        waitedNanos.addAndGet(nanos);
    }

    void taken() {
        taken.run();
    }

    long waitedNanos() {
        return waitedNanos.get();
    }
}
