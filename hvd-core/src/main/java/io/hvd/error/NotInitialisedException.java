package io.hvd.error;

/**
 * A call came before {@code Hvd.init()}, after shutdown, or on a thread of which hvd cannot know to which rank it
 * belongs.
 */
public final class NotInitialisedException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    /** For a call that needs a context, by the call's name. */
    public NotInitialisedException(String call) {
        this(call, "but hvd is not initialised: call Hvd.init() first");
    }

    /** @param why the rest of a sentence that begins with the call */
    public NotInitialisedException(String call, String why) {
        super("[" + ErrorId.NOT_INITIALISED.code() + "] " + call + " was called, " + why);
    }
}
