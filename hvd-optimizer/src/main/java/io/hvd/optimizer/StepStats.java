package io.hvd.optimizer;

/**
 * How well communication hid behind backward in the last step.
 *
 * @param bytes gradient bytes that were reduced
 * @param bytesBeforeBackwardEnded of these, bytes that were averaged when the wait for them began
 * @param bytesSent what this rank gave to collectives for them: less than {@code bytes} where they travel in 16 bits or
 *     compressed by a {@code GradientReducer}; with ADASUM the size of the parameters
 * @param exposedNanos how long the step then had to wait for the rest
 */
public record StepStats(long bytes, long bytesBeforeBackwardEnded, long bytesSent, long exposedNanos) {
    /** The share of the bytes that backward hid, from 0 (nothing) to 1 (everything). */
    public double overlap() {
        return bytes == 0 ? 1 : (double) bytesBeforeBackwardEnded / bytes;
    }
}
