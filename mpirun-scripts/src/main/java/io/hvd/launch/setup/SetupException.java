package io.hvd.launch.setup;

/** The set-up cannot go on; the message is one sentence that says what to ask for. */
final class SetupException extends RuntimeException {

    private static final long serialVersionUID = 1;

    SetupException(String message) {
        super(message);
    }
}
