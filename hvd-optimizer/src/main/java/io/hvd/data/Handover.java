package io.hvd.data;

import java.util.concurrent.atomic.AtomicLong;

/** A loader's record of the batches that its epochs hand over. One thread iterates, any thread may ask for the time. */
final class Handover {
    private final AtomicLong waitedNanos = new AtomicLong();
    private final Runnable taken;

    /** @param taken is called for each batch that was handed over, on the thread that iterates */
    Handover(Runnable taken) {
        this.taken = taken;
    }

    /** Begins a wait of the thread that iterates. */
    Wait begin() {
        return new Wait();
    }

    /** One wait for a batch. It counts also if no batch comes; a recording has only those for which one came. */
    final class Wait implements AutoCloseable {
        private final long asked = System.nanoTime();
        /** Null outside of a recording. */
        private final DataWaitEvent event = DataWaitRecording.begun();

        /** The batch of this number is there. */
        void ended(int number) {
            DataWaitRecording.ended(event, number);
        }

        @Override
        public void close() {
            waitedNanos.addAndGet(System.nanoTime() - asked);
        }
    }

    void taken() {
        taken.run();
    }

    long waitedNanos() {
        return waitedNanos.get();
    }
}
