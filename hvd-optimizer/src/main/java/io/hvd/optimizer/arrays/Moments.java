package io.hvd.optimizer.arrays;

import io.hvd.optimizer.Parameter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The running means of gradients and of their squares that Adam and its relatives keep, with the correction of their start at 0. */
public final class Moments {
    private final double beta1;
    private final double beta2;
    private final double epsilon;
    private final float[][] mean;
    private final float[][] square;

    /** @param optimizer whose constants these are, for messages */
    public Moments(String optimizer, List<Parameter> parameters, double beta1, double beta2, double epsilon) {
        ArrayConstants.requireShare(optimizer, "beta1", beta1);
        ArrayConstants.requireShare(optimizer, "beta2", beta2);
        ArrayConstants.requireNotNegative(optimizer, "epsilon", epsilon);
        this.beta1 = beta1;
        this.beta2 = beta2;
        this.epsilon = epsilon;
        this.mean = zerosLike(parameters);
        this.square = zerosLike(parameters);
    }

    private static float[][] zerosLike(List<Parameter> parameters) {
        return parameters.stream()
                .map(parameter -> new float[Math.toIntExact(parameter.value().elements())])
                .toArray(float[][]::new);
    }

    /** Takes a gradient in, and moves the values by Adam's step; {@code step} counts from 1. */
    public void step(int index, float[] value, float[] gradient, long step, double learningRate) {
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
    public void add(int index, float[] gradient) {
        for (int i = 0; i < gradient.length; i++) {
            add(mean[index], square[index], i, gradient[i]);
        }
    }

    /** Adam's step of one element with a learning rate of 1, after {@link #add(int, float[])}. */
    public double direction(int index, int element, double correction, double unbias) {
        return correction * mean[index][element] / (Math.sqrt(square[index][element]) * unbias + epsilon);
    }

    /** The factor of the mean of the gradients. */
    public double correction(long step) {
        return 1 / (1 - Math.pow(beta1, step));
    }

    /** The factor of the root of the mean square. */
    public double unbias(long step) {
        return 1 / Math.sqrt(1 - Math.pow(beta2, step));
    }

    private void add(float[] m, float[] v, int i, float gradient) {
        m[i] = (float) (beta1 * m[i] + (1 - beta1) * gradient);
        v[i] = (float) (beta2 * v[i] + (1 - beta2) * gradient * gradient);
    }

    public Map<String, Double> constants() {
        return Map.of("beta1", beta1, "beta2", beta2, "epsilon", epsilon);
    }

    public List<float[]> buffers() {
        List<float[]> all = new ArrayList<>(List.of(mean));
        all.addAll(List.of(square));
        return all;
    }
}
