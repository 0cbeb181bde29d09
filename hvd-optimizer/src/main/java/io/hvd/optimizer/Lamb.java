package io.hvd.optimizer;

import io.hvd.optimizer.arrays.ArrayConstants;
import io.hvd.optimizer.arrays.LayerNorms;
import io.hvd.optimizer.arrays.Moments;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;

/**
 * Adam on plain arrays with a rate of its own for each layer, for large batches (You et al., "Large Batch Optimization for Deep
 * Learning: Training BERT in 76 minutes", ICLR 2020, algorithm 2 with the identity for its function of the norm). Each array of
 * parameters is one layer: Adam's direction plus decay * value is made as long as the values, and then multiplied by the
 * learning rate. Where one of the two is 0, the direction stays as it is.
 */
public final class Lamb extends MomentsOptimizer {
    private final double weightDecay;
    private final boolean[] adapts;

    /** With the settings of the paper: beta1 0.9, beta2 0.999, epsilon 1e-6, weight decay 0.01. */
    public Lamb(ArrayParameters parameters, double learningRate) {
        this(parameters, learningRate, 0.9, 0.999, 1e-6, 0.01, name -> true);
    }

    /**
     * LAMB with these constants.
     *
     * @param adapted which parameters have a rate of their own and decay, by name, the same on every rank; biases and the scales of
     *     norms usually have neither, and then take steps of Adam
     * @throws io.hvd.error.HvdException if a beta is not at least 0 and less than 1, or one of the other numbers is
     *     negative or not finite
     */
    public Lamb(
            ArrayParameters parameters,
            double learningRate,
            double beta1,
            double beta2,
            double epsilon,
            double weightDecay,
            Predicate<String> adapted) {
        super(parameters, learningRate, new Moments("Lamb", parameters.list(), beta1, beta2, epsilon));
        ArrayConstants.requireNotNegative("Lamb", "weight decay", weightDecay);
        this.weightDecay = weightDecay;
        this.adapts = LayerNorms.chosen(parameters.list(), adapted);
    }

    @Override
    void update(int index, float[] value, float[] gradient, long step) {
        if (!adapts[index]) {
            moments.step(index, value, gradient, step, learningRate());
            return;
        }
        moments.add(index, gradient);
        double correction = moments.correction(step);
        double unbias = moments.unbias(step);
        double squares = 0;
        for (int i = 0; i < value.length; i++) {
            double direction = moments.direction(index, i, correction, unbias) + weightDecay * value[i];
            squares += direction * direction;
        }
        double values = LayerNorms.of(value);
        double ratio = values > 0 && squares > 0 ? values / Math.sqrt(squares) : 1;
        for (int i = 0; i < value.length; i++) {
            double direction = moments.direction(index, i, correction, unbias) + weightDecay * value[i];
            value[i] -= (float) (learningRate() * ratio * direction);
        }
    }

    @Override
    Map<String, Double> constants() {
        Map<String, Double> constants = new TreeMap<>(super.constants());
        constants.put("weight decay", weightDecay);
        return constants;
    }
}
