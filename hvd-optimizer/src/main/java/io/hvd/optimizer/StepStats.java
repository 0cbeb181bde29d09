package io.hvd.optimizer;

/**
 * How well communication hid behind backward in the last step.
 *
 * @param bytes gradient bytes that were reduced
 * @param bytesBeforeBackwardEnded of these, bytes that were averaged when the wait for them began
 * @param exposedNanos how long the step then had to wait for the rest
 */
public record StepStats(long bytes, long bytesBeforeBackwardEnded, long exposedNanos) {
    /** From 0, nothing was hidden, to 1. */
    public double overlap() {
        return bytes == 0 ? 1 : (double) bytesBeforeBackwardEnded / bytes;
    }
}
