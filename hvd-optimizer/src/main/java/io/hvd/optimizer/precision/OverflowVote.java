package io.hvd.optimizer.precision;

import io.hvd.AllreduceOptions;
import io.hvd.PreparedAllreduce;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Has the ranks agree whether a step is skipped, in one allreduce of {@value #COUNT} numbers per step.
 *
 * <p>An infinity or a NaN in the gradient of one rank is in the average, and so on every rank, anyway. The vote is there
 * for what the average does not show, and for what it needs besides: that the ranks have multiplied their losses by the
 * same scale, and a norm that is the same on all ranks to the last bit, so that they clip alike.
 */
public final class OverflowVote {
    private static final int OVERFLOWS = 0;
    private static final int RANKS = 1;
    private static final int SCALES = 2;
    private static final int SQUARES = 3;
    private static final int NORMS = 4;
    private static final int LOCAL_SQUARES = 5;
    private static final int COUNT = 6;
    /** Equal numbers come out equal to about 2^-50. */
    private static final double ROUNDING = 1e-12;

    private final ProcessSet set;
    private final String scope;
    /** Whether each rank has gradients of its own, and not the average. */
    private final boolean ownGradients;

    private final double[] numbers = new double[COUNT];
    /** Null before the first vote. */
    private PreparedAllreduce allreduce;

    /**
     * @param scope keeps the votes of several optimizers apart
     * @param ownGradients whether the ranks' gradients differ, as with ADASUM, so that each has a norm of its own
     */
    public OverflowVote(ProcessSet set, String scope, boolean ownGradients) {
        this.set = set;
        this.scope = scope;
        this.ownGradients = ownGradients;
    }

    /**
     * @param overflow whether any rank has found a number that is not finite
     * @param norm of the gradients that the ranks have in common, the mean of what they have found, which only differs by rounding,
     *     and of the local gradients of all ranks; of own gradients this rank's norm
     */
    public record Verdict(boolean overflow, double norm) {}

    /**
     * Every rank comes here in the same step.
     *
     * @param scale by which this rank has multiplied its losses
     * @param norm of the gradients that the ranks have in common; any number where nothing is clipped
     * @param localSquares the sum of the squares of this rank's local gradients
     * @throws HvdException on all ranks, if the scales differ
     */
    public Verdict agree(boolean overflow, double scale, double norm, double localSquares) {
        if (!set.included() || set.size() == 1) {
            return new Verdict(overflow, together(norm, localSquares));
        }
        numbers[OVERFLOWS] = overflow ? 1 : 0;
        numbers[RANKS] = 1; // and 0 of a rank that has joined
        numbers[SCALES] = scale;
        numbers[SQUARES] = scale * scale;
        numbers[NORMS] = norm;
        numbers[LOCAL_SQUARES] = localSquares;
        exchange();
        // By Cauchy and Schwarz, n times the sum of squares is the square of the sum only if all are equal.
        double squareOfSum = numbers[SCALES] * numbers[SCALES];
        if (numbers[RANKS] * numbers[SQUARES] - squareOfSum > ROUNDING * squareOfSum) {
            throw differing(scale);
        }
        double mean = numbers[NORMS] / numbers[RANKS];
        return new Verdict(numbers[OVERFLOWS] > 0, ownGradients ? norm : together(mean, numbers[LOCAL_SQUARES]));
    }

    private static double together(double norm, double squares) {
        return squares == 0 ? norm : Math.sqrt(norm * norm + squares);
    }

    private void exchange() {
        if (allreduce == null) {
            allreduce = set.prepareAllreduce(
                    List.of(scope + "amp.overflow"), List.of(Tensor.of(numbers)), AllreduceOptions.sum());
        }
        allreduce.start();
        allreduce.await();
    }

    /** Gives back what is prepared. */
    public void close() {
        if (allreduce != null) {
            allreduce.close();
        }
    }

    private HvdException differing(double scale) {
        double[] scales = new double[set.size()];
        scales[set.rank()] = scale;
        set.allreduceInPlace(scope + "amp.scales", Tensor.of(scales), AllreduceOptions.sum());
        TreeMap<Double, TreeSet<Integer>> ranks = new TreeMap<>();
        for (int place = 0; place < scales.length; place++) {
            if (scales[place] != 0) {
                ranks.computeIfAbsent(scales[place], key -> new TreeSet<>())
                        .add(set.ranks().get(place));
            }
        }
        return new HvdException(
                ErrorId.DIVERGED,
                "the ranks have multiplied their losses by different scales, " + inWords(ranks)
                        + ": no step has been made. A scaler's state was loaded, or update(newScale) called, on some"
                        + " ranks only; AmpOptimizer.broadcastOptimizerState(root) gives all ranks the root's");
    }

    private static String inWords(TreeMap<Double, TreeSet<Integer>> ranks) {
        String[] words = ranks.entrySet().stream()
                .map(entry -> entry.getKey() + " on ranks " + entry.getValue())
                .toArray(String[]::new);
        return String.join(" and ", Arrays.asList(words));
    }
}
