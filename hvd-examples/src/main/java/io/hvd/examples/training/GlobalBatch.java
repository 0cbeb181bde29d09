package io.hvd.examples.training;

import org.apache.commons.cli.ParseException;

/** A batch that counts the samples of all ranks together. @param flag that gives it, without dashes @param samples of all ranks */
public record GlobalBatch(String flag, int samples) {
    /**
     * The number of samples in each rank's part of the batch.
     *
     * @throws ParseException if the ranks' parts would differ
     */
    public int ofEachOf(int ranks) throws ParseException {
        if (samples % ranks != 0) {
            throw new ParseException("--" + flag + " is that of all ranks together: " + samples
                    + " cannot be dealt evenly to " + ranks + " ranks, " + Math.max(1, samples / ranks) * ranks
                    + " can");
        }
        return samples / ranks;
    }
}
