package io.hvd.optimizer;

import io.hvd.optimizer.arrays.ArrayConstants;
import io.hvd.optimizer.arrays.Moments;
import java.util.Map;
import java.util.TreeMap;

/**
 * Adam on plain arrays with decoupled weight decay: before each step every value is multiplied by 1 - learning rate * decay, and
 * the decay does not enter the gradient's means (Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019). The
 * conventions and defaults are those of torch.
 */
public final class AdamW extends MomentsOptimizer {
    private final double weightDecay;

    /** With torch's settings: beta1 0.9, beta2 0.999, epsilon 1e-8, weight decay 0.01. */
    public AdamW(ArrayParameters parameters, double learningRate) {
        this(parameters, learningRate, 0.9, 0.999, 1e-8, 0.01);
    }

    /**
     * AdamW with these constants.
     *
     * @throws io.hvd.error.HvdException if a beta is not at least 0 and less than 1, or one of the other numbers is
     *     negative or not finite
     */
    public AdamW(
            ArrayParameters parameters,
            double learningRate,
            double beta1,
            double beta2,
            double epsilon,
            double weightDecay) {
        super(parameters, learningRate, new Moments("AdamW", parameters.list(), beta1, beta2, epsilon));
        ArrayConstants.requireNotNegative("AdamW", "weight decay", weightDecay);
        this.weightDecay = weightDecay;
    }

    @Override
    void update(int index, float[] value, float[] gradient, long step) {
        float kept = (float) (1 - learningRate() * weightDecay);
        for (int i = 0; i < value.length; i++) {
            value[i] *= kept;
        }
        moments.step(index, value, gradient, step, learningRate());
    }

    @Override
    Map<String, Double> constants() {
        Map<String, Double> constants = new TreeMap<>(super.constants());
        constants.put("weight decay", weightDecay);
        return constants;
    }
}
