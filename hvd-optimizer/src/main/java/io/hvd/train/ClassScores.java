package io.hvd.train;

import java.util.Arrays;
import java.util.Objects;

/**
 * A classifier's scores of some samples: one per sample and class, the larger the likelier. Of equal scores that
 * of the lower class stands first, so the order is the same on every rank; a NaN stands last.
 *
 * @param scores sample by sample; not copied
 * @param classes scores per sample
 */
public record ClassScores(float[] scores, int classes) {
    public ClassScores {
        if (classes < 1 || scores.length % classes != 0) {
            throw new IllegalArgumentException(
                    scores.length + " scores are no whole number of samples with " + classes + " classes each");
        }
    }

    /** The number of samples. */
    public int samples() {
        return scores.length / classes;
    }

    /** The first samples, such as those of a batch that a {@link PaddingMask} counts. */
    public ClassScores first(int count) {
        Objects.checkIndex(count, samples() + 1);
        return new ClassScores(Arrays.copyOf(scores, count * classes), classes);
    }

    /** The class with the largest score. */
    public int top(int sample) {
        int best = 0;
        for (int other = 1; other < classes; other++) {
            if (isBefore(sample, other, best)) {
                best = other;
            }
        }
        return best;
    }

    /**
     * How many samples have their label among the {@code k} largest scores: over the number of samples this is the
     * top-k accuracy. A sample whose label has the score NaN is none of them.
     *
     * @param labels by sample, 0..classes-1
     */
    public int hits(int k, long[] labels) {
        if (labels.length != samples()) {
            throw new IllegalArgumentException(labels.length + " labels for " + samples() + " samples");
        }
        int hits = 0;
        for (int sample = 0; sample < labels.length; sample++) {
            int label = Objects.checkIndex(Math.toIntExact(labels[sample]), classes);
            hits += place(sample, label) < k && !Float.isNaN(score(sample, label)) ? 1 : 0;
        }
        return hits;
    }

    /** How many classes stand before this one. */
    private int place(int sample, int label) {
        int before = 0;
        for (int other = 0; other < classes; other++) {
            before += isBefore(sample, other, label) ? 1 : 0;
        }
        return before;
    }

    private boolean isBefore(int sample, int one, int other) {
        float a = score(sample, one);
        float b = score(sample, other);
        if (a == b || Float.isNaN(a) && Float.isNaN(b)) {
            return one < other;
        }
        return a > b || Float.isNaN(b);
    }

    private float score(int sample, int label) {
        return scores[sample * classes + label];
    }
}
