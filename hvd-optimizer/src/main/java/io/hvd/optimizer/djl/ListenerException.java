package io.hvd.optimizer.djl;

/** A listener has thrown on another rank, and so the training ends on this one too. The message names the rank. */
public final class ListenerException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    ListenerException(String message) {
        super(message);
    }
}
