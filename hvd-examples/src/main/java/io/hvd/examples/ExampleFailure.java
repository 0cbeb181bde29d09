package io.hvd.examples;

/**
 * An example ends here, on all ranks alike and without a defect in the program: every rank throws it at the same place,
 * and rank 0 says why, to the launcher too.
 */
public final class ExampleFailure extends Exception {
    private static final long serialVersionUID = 1L;

    private final int exitCode;

    /** @param reason the same sentence on all ranks */
    public ExampleFailure(String reason, int exitCode) {
        super(reason);
        this.exitCode = exitCode;
    }

    int exitCode() {
        return exitCode;
    }
}
