package io.hvd.trace;

/** Something that the recorder is told of: it has a {@link Call}, and may use it again when that call has ended. */
public interface Recorded {
    /** Null for what leaves no trace. */
    Call call();

    Call.Operation operation();

    /** The line of the program that calls it. */
    String site();
}
