package io.hvd.error;

/** A name was submitted again while its first operation is still under way; the first one still completes. */
public final class DuplicateNameException extends HvdException {
    private static final long serialVersionUID = 1L;

    /** With a message that names the operation. */
    public DuplicateNameException(String message) {
        super(ErrorId.DUPLICATE_NAME, message);
    }

    private DuplicateNameException(DuplicateNameException original) {
        super(original);
    }

    @Override
    public DuplicateNameException seenHere() {
        return new DuplicateNameException(this);
    }
}
