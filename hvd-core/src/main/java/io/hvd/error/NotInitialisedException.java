package io.hvd.error;

/** A call came before {@code Hvd.init()} or after shutdown. */
public final class NotInitialisedException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    /** For a call that needs a context, by the call's name. */
    public NotInitialisedException(String call) {
        super("[" + ErrorId.NOT_INITIALISED.code() + "] " + call
                + " was called, but hvd is not initialised: call Hvd.init() first");
    }
}
