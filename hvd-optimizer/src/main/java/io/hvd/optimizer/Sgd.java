package io.hvd.optimizer;

import java.util.List;
import java.util.Map;

/**
 * Stochastic gradient descent on plain arrays, with the conventions of torch: weight decay joins the
 * gradient, the velocity is v = momentum * v + gradient, and the step is value -= rate * v.
 */
public final class Sgd extends ArrayOptimizer {
    private final float momentum;
    private final float weightDecay;
    private final float[][] velocity;

    /** Stochastic gradient descent without momentum and weight decay. */
    public Sgd(ArrayParameters parameters, double learningRate) {
        this(parameters, learningRate, 0, 0);
    }

    /** Stochastic gradient descent with momentum and with weight decay, which is added to the gradients. */
    public Sgd(ArrayParameters parameters, double learningRate, double momentum, double weightDecay) {
        super(parameters, learningRate);
        this.momentum = (float) momentum;
        this.weightDecay = (float) weightDecay;
        this.velocity = momentum == 0 ? new float[0][] : zerosLike(parameters);
    }

    @Override
    void update(int index, float[] value, float[] gradient, long step) {
        float rate = (float) learningRate();
        float[] own = momentum == 0 ? null : velocity[index];
        for (int i = 0; i < value.length; i++) {
            float direction = gradient[i] + weightDecay * value[i];
            if (own != null) {
                direction += momentum * own[i];
                own[i] = direction;
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
                Double.valueOf(Float.toString(weightDecay)));
    }

    @Override
    long buffersPerParameter() {
        return momentum == 0 ? 0 : 1;
    }

    @Override
    List<float[]> buffers() {
        return List.of(velocity);
    }
}
