package io.hvd.engine.submission;

/** A result that a thread of the program may wait for. */
public interface Awaited {
    boolean isDone();

    /** Waits until it has ended, whether or not it has succeeded. */
    void await();
}
