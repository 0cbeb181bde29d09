package io.hvd.examples;

/**
 * Ends an example on all ranks for a reason that is not a defect of the program. Every rank throws it at the same
 * place, and rank 0 reports the reason, to the launcher too.
 */
public final class ExampleFailure extends Exception {
    private static final long serialVersionUID = 1L;

    private final int exitCode;

    /** @param reason a sentence, the same on all ranks */
    public ExampleFailure(String reason, int exitCode) {
        super(reason);
        this.exitCode = exitCode;
    }

    int exitCode() {
        return exitCode;
    }
}
