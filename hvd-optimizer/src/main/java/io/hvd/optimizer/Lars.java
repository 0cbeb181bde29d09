package io.hvd.optimizer;

import io.hvd.optimizer.arrays.ArrayBuffer;
import io.hvd.optimizer.arrays.ArrayConstants;
import io.hvd.optimizer.arrays.LayerNorms;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Layer-wise adaptive rate scaling on plain arrays, for large batches (You, Gitman and Ginsburg, "Large Batch Training of
 * Convolutional Networks", 2017). Each array of parameters is one layer, with the local rate
 * trust * |value| / (|gradient| + decay * |value|); where one of the two norms is 0, the local rate is 1.
 *
 * <p>The velocity is v = momentum * v + local rate * (gradient + decay * value) and the step value -= rate * v. The paper has the
 * rate inside the velocity, which is the same while the rate does not change. A change of the rate takes effect at once and needs
 * no momentum correction.
 */
public final class Lars extends ArrayOptimizer {
    private final double momentum;
    private final double weightDecay;
    private final double trust;
    private final boolean[] adapts;
    private final float[][] velocity;

    /** With the paper's settings for ResNet-50: momentum 0.9, weight decay 0.0005, trust coefficient 0.001. */
    public Lars(ArrayParameters parameters, double learningRate) {
        this(parameters, learningRate, 0.9, 0.0005, 0.001, name -> true);
    }

    /**
     * LARS with these constants.
     *
     * @param trust the local rate of a layer whose gradient is as long as its values, without decay
     * @param adapted which parameters have a local rate and decay, by name, the same on every rank; biases and the scales of norms
     *     usually have neither, and then take steps of SGD with momentum
     * @throws io.hvd.error.HvdException if the momentum is not at least 0 and less than 1, the decay is negative or the trust
     *     coefficient is not positive
     */
    public Lars(
            ArrayParameters parameters,
            double learningRate,
            double momentum,
            double weightDecay,
            double trust,
            Predicate<String> adapted) {
        super(parameters, learningRate);
        ArrayConstants.requireShare("Lars", "momentum", momentum);
        ArrayConstants.requireNotNegative("Lars", "weight decay", weightDecay);
        ArrayConstants.requirePositive("Lars", "trust", trust);
        this.momentum = momentum;
        this.weightDecay = weightDecay;
        this.trust = trust;
        this.adapts = LayerNorms.chosen(parameters.list(), adapted);
        this.velocity = zerosLike(parameters);
    }

    @Override
    void update(int index, float[] value, float[] gradient, long step) {
        double decay = adapts[index] ? weightDecay : 0;
        double local = adapts[index] ? localRate(value, gradient) : 1;
        float[] own = velocity[index];
        for (int i = 0; i < value.length; i++) {
            own[i] = (float) (momentum * own[i] + local * (gradient[i] + decay * value[i]));
            value[i] -= (float) (learningRate() * own[i]);
        }
    }

    private double localRate(float[] value, float[] gradient) {
        double values = LayerNorms.of(value);
        double gradients = LayerNorms.of(gradient);
        return values > 0 && gradients > 0 ? trust * values / (gradients + weightDecay * values) : 1;
    }

    @Override
    Map<String, Double> constants() {
        return Map.of("momentum", momentum, "weight decay", weightDecay, "trust", trust);
    }

    @Override
    List<ArrayBuffer> kinds() {
        return List.of(ArrayBuffer.VELOCITY);
    }

    @Override
    List<float[]> buffers() {
        return List.of(velocity);
    }
}
