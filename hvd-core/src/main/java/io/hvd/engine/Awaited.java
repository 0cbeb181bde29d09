package io.hvd.engine;

/** A result that a thread of the program may wait for. */
interface Awaited {
    boolean isDone();

    /** Waits until it has ended, whether or not it has succeeded. */
    void await();
}
