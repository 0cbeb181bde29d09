package io.hvd.optimizer;

/**
 * How well communication hid behind backward in the last step.
 *
 * @param bytes gradient bytes that were reduced
 * @param bytesBeforeBackwardEnded of these, bytes that were averaged when the wait for them began
 * @param exposedNanos how long the step then had to wait for the rest
 */
public record StepStats(long bytes, long bytesBeforeBackwardEnded, long exposedNanos) {
    /** The share of the bytes that backward hid, from 0 (nothing) to 1 (everything). */
    public double overlap() {
        return bytes == 0 ? 1 : (double) bytesBeforeBackwardEnded / bytes;
    }
}
