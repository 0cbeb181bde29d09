package io.hvd.examples.training;

import org.apache.commons.cli.ParseException;

/** The batch of a flag {@code --batch-size} that counts the samples of all ranks together. @param samples of all ranks */
public record GlobalBatch(int samples) {
    /**
     * The number of samples in each rank's part of the batch.
     *
     * @throws ParseException if the ranks' parts would differ
     */
    public int ofEachOf(int ranks) throws ParseException {
        if (samples % ranks != 0) {
            throw new ParseException("--batch-size is that of all ranks together: " + samples
                    + " cannot be dealt evenly to " + ranks + " ranks, " + Math.max(1, samples / ranks) * ranks
                    + " can");
        }
        return samples / ranks;
    }
}
