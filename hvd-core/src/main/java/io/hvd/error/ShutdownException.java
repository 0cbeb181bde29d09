package io.hvd.error;

/** The operation can never complete: a rank has closed its context, failed or vanished. The message says which and why. */
public final class ShutdownException extends HvdException {
    private static final long serialVersionUID = 1L;

    /** With a message that says why the job has ended. */
    public ShutdownException(String message) {
        super(ErrorId.SHUT_DOWN, message);
    }

    /** With a message that says why the job has ended, and what came before. */
    public ShutdownException(String message, Throwable cause) {
        super(ErrorId.SHUT_DOWN, message, cause);
    }

    private ShutdownException(ShutdownException original) {
        super(original);
    }

    @Override
    public ShutdownException seenHere() {
        return new ShutdownException(this);
    }
}
