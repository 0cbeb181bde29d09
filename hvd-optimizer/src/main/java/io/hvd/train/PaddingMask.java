package io.hvd.train;

import io.hvd.data.Sampler;

/**
 * Leaves out the samples that a {@link Sampler} repeats to give all ranks as many; they come last on their rank. Make one
 * per epoch, and ask it once for each batch, in order:
 *
 * <pre>{@code
 * PaddingMask mask = new PaddingMask(sampler);
 * for (Batch batch : loader) {
 *     int counted = mask.counted(batch.size());
 *     loss.add(sumOfLosses(batch, counted), counted);
 * }
 * }</pre>
 *
 * <p>An {@code EvalSampler} repeats nothing and needs none.
 */
public final class PaddingMask {
    private int left;

    /** For one pass of this sampler: an epoch, or the rest of one. */
    public PaddingMask(Sampler sampler) {
        this.left = sampler.length() - sampler.padding();
    }

    /** How many samples of the next batch count: its first ones. The others are repetitions. */
    public int counted(int batchSize) {
        int counted = Math.min(batchSize, left);
        left -= counted;
        return counted;
    }
}
