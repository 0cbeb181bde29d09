package io.hvd.error;

/** Base of everything that hvd throws; the identifier stays the same when the wording changes. */
public class HvdException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final ErrorId id;

    /** Without a cause; the message gets the error's code in front. */
    public HvdException(ErrorId id, String message) {
        this(id, message, null);
    }

    /** With a cause; the message gets the error's code in front. */
    public HvdException(ErrorId id, String message, Throwable cause) {
        super("[" + id.code() + "] " + message, cause);
        this.id = id;
    }

    /** Repeats an error with another stack. */
    HvdException(HvdException original) {
        super(original.getMessage(), original);
        this.id = original.id;
    }

    /**
     * Repeats this error with the calling thread's stack, and with this one as its cause: for every thread that waits
     * for something that has failed on another one.
     */
    public HvdException seenHere() {
        return new HvdException(this);
    }

    /** The kind of error. */
    public ErrorId id() {
        return id;
    }

    /** The message without the identifier in front. */
    public String words() {
        return getMessage().substring(id.code().length() + 3);
    }
}
