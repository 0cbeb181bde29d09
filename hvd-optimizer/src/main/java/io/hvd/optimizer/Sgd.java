package io.hvd.optimizer;

import io.hvd.optimizer.arrays.ArrayBuffer;
import io.hvd.optimizer.arrays.ArrayConstants;
import java.util.List;
import java.util.Map;

/**
 * Stochastic gradient descent on plain arrays, with the conventions of torch: weight decay joins the
 * gradient, the velocity is v = momentum * v + gradient, and the step is value -= rate * v. With Nesterov's momentum the step
 * looks ahead, value -= rate * (gradient + momentum * v).
 *
 * <p>The rate is not in the velocity, so a change of the rate takes effect at once. Horovod's momentum correction, for Keras'
 * velocity with the rate in it, comes to the same.
 */
public final class Sgd extends ArrayOptimizer {
    private final float momentum;
    private final float weightDecay;
    private final boolean nesterov;
    private final float[][] velocity;

    /** Stochastic gradient descent without momentum and weight decay. */
    public Sgd(ArrayParameters parameters, double learningRate) {
        this(parameters, learningRate, 0, 0);
    }

    /**
     * Stochastic gradient descent with momentum and with weight decay, which is added to the gradients.
     *
     * @throws io.hvd.error.HvdException if one of the numbers is negative or not finite
     */
    public Sgd(ArrayParameters parameters, double learningRate, double momentum, double weightDecay) {
        this(parameters, learningRate, momentum, weightDecay, false);
    }

    private Sgd(
            ArrayParameters parameters, double learningRate, double momentum, double weightDecay, boolean nesterov) {
        super(parameters, learningRate);
        ArrayConstants.requireNotNegative("Sgd", "momentum", momentum);
        ArrayConstants.requireNotNegative("Sgd", "weight decay", weightDecay);
        this.momentum = (float) momentum;
        this.weightDecay = (float) weightDecay;
        this.nesterov = nesterov;
        this.velocity = momentum == 0 ? new float[0][] : zerosLike(parameters);
    }

    /**
     * Stochastic gradient descent with Nesterov's momentum, which DJL calls Nag.
     *
     * @throws io.hvd.error.HvdException if the momentum is not more than 0 and less than 1, as torch wants it too
     */
    public static Sgd nesterov(ArrayParameters parameters, double learningRate, double momentum, double weightDecay) {
        ArrayConstants.requireShare("Sgd.nesterov", "momentum", momentum);
        ArrayConstants.requirePositive("Sgd.nesterov", "momentum", momentum);
        return new Sgd(parameters, learningRate, momentum, weightDecay, true);
    }

    @Override
    void update(int index, float[] value, float[] gradient, long step) {
        float rate = (float) learningRate();
        float[] own = momentum == 0 ? null : velocity[index];
        for (int i = 0; i < value.length; i++) {
            float direction = gradient[i] + weightDecay * value[i];
            if (own != null) {
                own[i] = direction + momentum * own[i];
                direction = nesterov ? direction + momentum * own[i] : own[i];
            }
            value[i] -= rate * direction;
        }
    }

    @Override
    Map<String, Double> constants() {
        return Map.of(
                "momentum",
                Double.valueOf(Float.toString(momentum)),
                "weight decay",
                Double.valueOf(Float.toString(weightDecay)),
                "nesterov",
                nesterov ? 1.0 : 0.0);
    }

    @Override
    List<ArrayBuffer> kinds() {
        if (momentum == 0) {
            return List.of();
        }
        return List.of(nesterov ? ArrayBuffer.NESTEROV_VELOCITY : ArrayBuffer.VELOCITY);
    }

    @Override
    List<float[]> buffers() {
        return List.of(velocity);
    }
}
