package io.hvd.train;

import io.hvd.data.Sampler;
import java.util.Objects;

/**
 * Leaves out the samples that a {@link Sampler} repeats to give all ranks as many; they come last on their rank. Ask it once for each
 * batch, in order. In a {@link TrainingLoop} it is one of the callbacks, and begins each epoch anew:
 *
 * <pre>{@code
 * PaddingMask mask = new PaddingMask(sampler);
 * TrainingLoop.of(hvd, optimizer).with(mask).run(epochs, loader, (batch, training) -> {
 *     int counted = mask.counted(batch.size());
 *     training.metrics().add("loss", sumOfLosses(batch, counted), counted);
 *     ...
 * });
 * }</pre>
 *
 * <p>In a loop of your own make one per epoch. An {@code EvalSampler} repeats nothing and needs none.
 */
public final class PaddingMask implements Callback {
    private final Sampler sampler;
    private int left;

    /** For one pass of this sampler, an epoch or the rest of one; in a {@link TrainingLoop} for all its epochs. */
    public PaddingMask(Sampler sampler) {
        this.sampler = Objects.requireNonNull(sampler, "sampler");
        begin();
    }

    private void begin() {
        left = sampler.length() - sampler.padding();
    }

    /** The sampler is in this epoch from its first batch on. */
    @Override
    public void batchBegins(Training training) {
        if (training.batch() == 0) {
            begin();
        }
    }

    /** How many samples of the next batch count: its first ones. The others are repetitions. */
    public int counted(int batchSize) {
        int counted = Math.min(batchSize, left);
        left -= counted;
        return counted;
    }
}
