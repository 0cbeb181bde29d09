package io.hvd.optimizer;

/**
 * How well communication hid behind backward in the last step. What counts is what the gradients have in their messages: on one
 * host, gradients that travel in 16 bits lie in the shared memory as float32, though {@code bytesSent} counts two bytes for each
 * element.
 *
 * @param bytes gradient bytes that were reduced; of a sparse gradient this rank's rows and their numbers
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
