package io.hvd.engine;

/** What a thread of the program may wait for. */
interface Awaited {
    boolean isDone();

    /** Waits until it has ended, in whatever way. */
    void await();
}
