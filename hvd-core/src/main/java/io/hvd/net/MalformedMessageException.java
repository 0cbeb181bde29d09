package io.hvd.net;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;

/** The bytes of a control message do not make sense: its sender runs another version of hvd, or the message is damaged. */
public final class MalformedMessageException extends HvdException {
    private static final long serialVersionUID = 1L;

    public MalformedMessageException(String message) {
        this(message, null);
    }

    MalformedMessageException(String message, Throwable cause) {
        super(ErrorId.BACK_END, message + "; all processes of a job must run the same version of hvd", cause);
    }
}
