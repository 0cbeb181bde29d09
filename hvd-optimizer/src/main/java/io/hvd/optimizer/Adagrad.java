package io.hvd.optimizer;

import io.hvd.optimizer.arrays.ArrayBuffer;
import io.hvd.optimizer.arrays.ArrayConstants;
import java.util.List;
import java.util.Map;

/**
 * Adagrad on plain arrays: every element's rate is divided by the root of the sum of its squared gradients (Duchi, Hazan and Singer,
 * "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization", JMLR 2011). The conventions and defaults are those of torch.
 */
public final class Adagrad extends ArrayOptimizer {
    private final double rateDecay;
    private final double weightDecay;
    private final double epsilon;
    private final float[][] sum;

    /** With torch's settings: no decay of the rate or the weights, epsilon 1e-10. */
    public Adagrad(ArrayParameters parameters, double learningRate) {
        this(parameters, learningRate, 0, 0, 1e-10);
    }

    /**
     * Adagrad with these constants.
     *
     * @param rateDecay step n, counted from 0, has the rate divided by 1 + n * rateDecay
     * @throws io.hvd.error.HvdException if one of the numbers is negative or not finite
     */
    public Adagrad(
            ArrayParameters parameters, double learningRate, double rateDecay, double weightDecay, double epsilon) {
        super(parameters, learningRate);
        ArrayConstants.requireNotNegative("Adagrad", "rate decay", rateDecay);
        ArrayConstants.requireNotNegative("Adagrad", "weight decay", weightDecay);
        ArrayConstants.requireNotNegative("Adagrad", "epsilon", epsilon);
        this.rateDecay = rateDecay;
        this.weightDecay = weightDecay;
        this.epsilon = epsilon;
        this.sum = zerosLike(parameters);
    }

    @Override
    void update(int index, float[] value, float[] gradient, long step) {
        float rate = (float) (learningRate() / (1 + (step - 1) * rateDecay));
        float decay = (float) weightDecay;
        float small = (float) epsilon;
        float[] squares = sum[index];
        for (int i = 0; i < value.length; i++) {
            float direction = gradient[i] + decay * value[i];
            squares[i] += direction * direction;
            value[i] -= rate * direction / ((float) Math.sqrt(squares[i]) + small);
        }
    }

    @Override
    Map<String, Double> constants() {
        return Map.of("rate decay", rateDecay, "weight decay", weightDecay, "epsilon", epsilon);
    }

    @Override
    List<ArrayBuffer> kinds() {
        return List.of(ArrayBuffer.SUMS_OF_SQUARES);
    }

    @Override
    List<float[]> buffers() {
        return List.of(sum);
    }
}
