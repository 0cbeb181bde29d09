package io.hvd.train;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * The area under the ROC curve of a score for two classes, over the samples of all ranks: the probability that a positive sample has
 * a larger score than a negative one, where equal scores count one half. It is exact: the scores of all ranks are sorted together,
 * for which every rank gets 8 bytes per sample.
 */
public final class AreaUnderCurve {
    private final String name;
    /** A score's bits and 1 or 0 for its class, in turn. */
    private int[] pairs = new int[128];

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
                    "sample " + used / 2 + " of metric \"" + name + "\" on this rank has the score NaN");
        }
        if (used == pairs.length) {
            pairs = Arrays.copyOf(pairs, Math.multiplyExact(2, used));
        }
        pairs[used++] = Float.floatToIntBits(score + 0f); // which makes -0 the same as 0
        pairs[used++] = positive ? 1 : 0;
    }

    /** The area over the ranks of a process set; each of them must call it, and gets the same result. */
    public Result reduce(ProcessSet ranks) {
        int[] all = (int[]) ranks.allgather("metric." + name, Tensor.of(Arrays.copyOf(pairs, used)))
                .toArray();
        int samples = all.length / 2;
        Integer[] order = IntStream.range(0, samples).boxed().toArray(Integer[]::new);
        Arrays.sort(order, Comparator.comparing(sample -> Float.intBitsToFloat(all[2 * sample])));
        long positives = IntStream.range(0, samples)
                .mapToLong(sample -> all[2 * sample + 1])
                .sum();
        return new Result(
                twiceTheWins(all, order) / (2.0 * positives * (samples - positives)), positives, samples - positives);
    }

    /** Over the pairs of a positive and a negative sample: 2 for a larger score of the positive one, 1 for equal scores. */
    private static double twiceTheWins(int[] all, Integer... order) {
        double wins = 0;
        long negativesBelow = 0;
        int from = 0;
        while (from < order.length) {
            int to = from;
            long positives = 0;
            while (to < order.length && all[2 * order[to]] == all[2 * order[from]]) {
                positives += all[2 * order[to++] + 1];
            }
            long negatives = to - from - positives;
            wins += positives * (2.0 * negativesBelow + negatives);
            negativesBelow += negatives;
            from = to;
        }
        return wins;
    }

    /**
     * The area, and the samples behind it.
     *
     * @param area NaN if one of the classes has no sample
     */
    public record Result(double area, long positives, long negatives) {}
}
