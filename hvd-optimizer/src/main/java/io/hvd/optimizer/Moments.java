package io.hvd.optimizer;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The running means of gradients and of their squares that Adam and its relatives keep, with the correction of their start at 0. */
final class Moments {
    private final double beta1;
    private final double beta2;
    private final double epsilon;
    private final float[][] mean;
    private final float[][] square;

    /** @param optimizer whose constants these are, for messages */
    Moments(String optimizer, ArrayParameters parameters, double beta1, double beta2, double epsilon) {
        OptimizerCheck.requireShare(optimizer, "beta1", beta1);
        OptimizerCheck.requireShare(optimizer, "beta2", beta2);
        OptimizerCheck.requireNotNegative(optimizer, "epsilon", epsilon);
        this.beta1 = beta1;
        this.beta2 = beta2;
        this.epsilon = epsilon;
        this.mean = ArrayOptimizer.zerosLike(parameters);
        this.square = ArrayOptimizer.zerosLike(parameters);
    }

    /** Takes a gradient in, and moves the values by Adam's step; {@code step} counts from 1. */
    void step(int index, float[] value, float[] gradient, long step, double learningRate) {
        double rate = learningRate / (1 - Math.pow(beta1, step));
        double unbias = unbias(step);
        float[] m = mean[index];
        float[] v = square[index];
        for (int i = 0; i < value.length; i++) {
            add(m, v, i, gradient[i]);
            value[i] -= (float) (rate * m[i] / (Math.sqrt(v[i]) * unbias + epsilon));
        }
    }

    /** Takes a gradient in. */
    void add(int index, float[] gradient) {
        for (int i = 0; i < gradient.length; i++) {
            add(mean[index], square[index], i, gradient[i]);
        }
    }

    /** Adam's step of one element with a learning rate of 1, after {@link #add(int, float[])}. */
    double direction(int index, int element, double correction, double unbias) {
        return correction * mean[index][element] / (Math.sqrt(square[index][element]) * unbias + epsilon);
    }

    /** The factor of the mean of the gradients. */
    double correction(long step) {
        return 1 / (1 - Math.pow(beta1, step));
    }

    /** The factor of the root of the mean square. */
    double unbias(long step) {
        return 1 / Math.sqrt(1 - Math.pow(beta2, step));
    }

    private void add(float[] m, float[] v, int i, float gradient) {
        m[i] = (float) (beta1 * m[i] + (1 - beta1) * gradient);
        v[i] = (float) (beta2 * v[i] + (1 - beta2) * gradient * gradient);
    }

    Map<String, Double> constants() {
        return Map.of("beta1", beta1, "beta2", beta2, "epsilon", epsilon);
    }

    List<float[]> buffers() {
        List<float[]> all = new ArrayList<>(List.of(mean));
        all.addAll(List.of(square));
        return all;
    }
}
