package io.hvd.optimizer;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Adam on plain arrays (Kingma and Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015), with bias correction. */
public final class Adam extends ArrayOptimizer {
    private final double beta1;
    private final double beta2;
    private final double epsilon;
    private final float[][] mean;
    private final float[][] square;

    /** With the paper's settings: beta1 0.9, beta2 0.999, epsilon 1e-8. */
    public Adam(ArrayParameters parameters, double learningRate) {
        this(parameters, learningRate, 0.9, 0.999, 1e-8);
    }

    /** Adam with these constants; {@code beta1} and {@code beta2} are at least 0 and less than 1. */
    public Adam(ArrayParameters parameters, double learningRate, double beta1, double beta2, double epsilon) {
        super(parameters, learningRate);
        this.beta1 = beta1;
        this.beta2 = beta2;
        this.epsilon = epsilon;
        this.mean = zerosLike(parameters);
        this.square = zerosLike(parameters);
    }

    @Override
    void update(int index, float[] value, float[] gradient, long step) {
        float[] m = mean[index];
        float[] v = square[index];
        double rate = learningRate() / (1 - Math.pow(beta1, step));
        double unbias = 1 / Math.sqrt(1 - Math.pow(beta2, step));
        for (int i = 0; i < value.length; i++) {
            m[i] = (float) (beta1 * m[i] + (1 - beta1) * gradient[i]);
            v[i] = (float) (beta2 * v[i] + (1 - beta2) * gradient[i] * gradient[i]);
            value[i] -= (float) (rate * m[i] / (Math.sqrt(v[i]) * unbias + epsilon));
        }
    }

    @Override
    Map<String, Double> constants() {
        return Map.of("beta1", beta1, "beta2", beta2, "epsilon", epsilon);
    }

    @Override
    long buffersPerParameter() {
        return 2;
    }

    @Override
    List<float[]> buffers() {
        List<float[]> all = new ArrayList<>(List.of(mean));
        all.addAll(List.of(square));
        return all;
    }
}
