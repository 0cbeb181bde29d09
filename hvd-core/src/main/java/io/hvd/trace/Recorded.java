package io.hvd.trace;

/** An operation that the recorder is told of: it has a {@link Call}, and may use it again when that call has ended. */
public interface Recorded {
    /** The recorder's entry; null for an operation that is not recorded. */
    Call call();

    Call.Operation operation();

    /** The line of the program that calls it. */
    String site();

    /** Number of bytes that this rank brings, as they travel. */
    long bytes();
}
