package io.hvd.train;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.util.Arrays;

/**
 * The area under the ROC curve of a score for two classes, over the samples of all ranks: the probability that a positive sample has
 * a larger score than a negative one, where equal scores count one half. It is exact: the scores of all ranks are sorted together,
 * for which every rank gets 8 bytes per sample.
 */
public final class AreaUnderCurve {
    private final String name;
    /** A number for each sample: larger for a larger score, and odd for a positive one. */
    private long[] samples = new long[64];

    private int used;

    /** @param name the same on every rank */
    public AreaUnderCurve(String name) {
        this.name = name;
    }

    /**
     * Adds a sample of this rank.
     *
     * @throws HvdException if the score is NaN, which has no place among the others
     */
    public void add(float score, boolean positive) {
        if (Float.isNaN(score)) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "sample " + used + " of metric \"" + name + "\" on this rank has the score NaN");
        }
        if (used == samples.length) {
            samples = Arrays.copyOf(samples, Math.multiplyExact(2, used));
        }
        samples[used++] = 2L * ordered(score) + (positive ? 1 : 0);
    }

    /** Integers in the order of the scores; 0 and -0 are the same score. */
    private static int ordered(float score) {
        int bits = Float.floatToIntBits(score + 0f);
        return bits >= 0 ? bits : Integer.MIN_VALUE - bits;
    }

    /** The area over the ranks of a process set; each of them must call it, and gets the same result. */
    public Result reduce(ProcessSet ranks) {
        long[] all = (long[]) ranks.allgather("metric." + name, Tensor.of(Arrays.copyOf(samples, used)))
                .toArray();
        Arrays.sort(all);
        long positives = Arrays.stream(all).filter(AreaUnderCurve::isPositive).count();
        long negatives = all.length - positives;
        return new Result(twiceTheWins(all) / (2.0 * positives * negatives), positives, negatives);
    }

    /** Over the pairs of a positive and a negative sample: 2 for a larger score of the positive one, 1 for equal scores. */
    private static double twiceTheWins(long... sorted) {
        double wins = 0;
        long negativesBelow = 0;
        int from = 0;
        while (from < sorted.length) {
            int to = from;
            long positives = 0;
            while (to < sorted.length && sorted[to] >> 1 == sorted[from] >> 1) {
                positives += isPositive(sorted[to++]) ? 1 : 0;
            }
            long negatives = to - from - positives;
            wins += positives * (2.0 * negativesBelow + negatives);
            negativesBelow += negatives;
            from = to;
        }
        return wins;
    }

    private static boolean isPositive(long sample) {
        return (sample & 1) == 1;
    }

    /**
     * The area, and the samples behind it.
     *
     * @param area NaN if one of the classes has no sample
     */
    public record Result(double area, long positives, long negatives) {}
}
