package io.hvd.error;

/** Base of everything that hvd throws; the identifier stays the same when the wording changes. */
public class HvdException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final ErrorId id;

    public HvdException(ErrorId id, String message) {
        this(id, message, null);
    }

    public HvdException(ErrorId id, String message, Throwable cause) {
        super("[" + id.code() + "] " + message, cause);
        this.id = id;
    }

    public ErrorId id() {
        return id;
    }
}
