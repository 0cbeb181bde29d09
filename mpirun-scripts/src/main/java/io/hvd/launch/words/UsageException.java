package io.hvd.launch.words;

/** A command line or environment the launcher cannot work with; ends it with exit code 2. */
public final class UsageException extends RuntimeException {

    private static final long serialVersionUID = 1;

    /**
     * @param id fixed name of this condition, to search for
     * @param message one line: what was given, what is expected
     */
    public UsageException(String id, String message) {
        super(message + " [" + id + "]");
    }
}
