package io.hvd.train;

/** A part of the program that a {@link TrainingLoop} has called has failed on one rank; the cause is what it has thrown. */
public final class CallbackException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    CallbackException(String name, String when, Training training, Exception cause) {
        super(words(name, when, training, cause), cause);
    }

    static String words(String name, String when, Training training, Exception cause) {
        return name + " has failed on rank " + training.globalRank() + ", " + when + " of epoch " + training.epoch()
                + " (counted from 0), after " + training.steps() + " batches: " + cause.getMessage();
    }
}
