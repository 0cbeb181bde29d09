package io.hvd.optimizer;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * A net of two layers on plain arrays with its gradients worked out by hand, for regression on
 * samples that depend on their index only.
 */
public final class TinyNet {
    private static final int INPUTS = 5;
    private static final int HIDDEN = 4;

    public final ArrayParameters parameters = new ArrayParameters();
    private final float[] w1 = new float[HIDDEN * INPUTS];
    private final float[] b1 = new float[HIDDEN];
    private final float[] w2 = new float[HIDDEN];
    private final float[] b2 = new float[1];
    private final float[] w1Gradient = new float[w1.length];
    private final float[] b1Gradient = new float[b1.length];
    private final float[] w2Gradient = new float[w2.length];
    private final float[] b2Gradient = new float[b2.length];

    /** Two nets of the same seed are equal. */
    public TinyNet(long seed) {
        Random random = new Random(seed);
        for (float[] values : List.of(w1, b1, w2, b2)) {
            for (int i = 0; i < values.length; i++) {
                values[i] = (float) random.nextGaussian() / 2;
            }
        }
        parameters.add("w1", w1, w1Gradient).add("b1", b1, b1Gradient);
        parameters.add("w2", w2, w2Gradient).add("b2", b2, b2Gradient);
    }

    public static List<String> names() {
        return List.of("w1", "b1", "w2", "b2");
    }

    /** Adds the gradients of the mean squared error over samples {@code from} to {@code to - 1}. */
    public void backward(int from, int to) {
        for (int sample = from; sample < to; sample++) {
            Random random = new Random(1000 + sample);
            double[] x = random.doubles(INPUTS, -1, 1).toArray();
            double target = Math.sin(3 * x[0]) + x[1] * x[2];
            double[] hidden = new double[HIDDEN];
            double output = b2[0];
            for (int h = 0; h < HIDDEN; h++) {
                double sum = b1[h];
                for (int i = 0; i < INPUTS; i++) {
                    sum += w1[h * INPUTS + i] * x[i];
                }
                hidden[h] = Math.tanh(sum);
                output += w2[h] * hidden[h];
            }
            double error = 2 * (output - target) / (to - from);
            b2Gradient[0] += (float) error;
            for (int h = 0; h < HIDDEN; h++) {
                w2Gradient[h] += (float) (error * hidden[h]);
                double inner = error * w2[h] * (1 - hidden[h] * hidden[h]);
                b1Gradient[h] += (float) inner;
                for (int i = 0; i < INPUTS; i++) {
                    w1Gradient[h * INPUTS + i] += (float) (inner * x[i]);
                }
            }
        }
    }

    /** A copy of all parameters, one after the other. */
    public float[] weights() {
        return flat(List.of(w1, b1, w2, b2));
    }

    float[] gradients() {
        return flat(List.of(w1Gradient, b1Gradient, w2Gradient, b2Gradient));
    }

    private static float[] flat(List<float[]> arrays) {
        List<Float> all = new ArrayList<>();
        for (float[] array : arrays) {
            for (float value : array) {
                all.add(value);
            }
        }
        float[] flat = new float[all.size()];
        for (int i = 0; i < flat.length; i++) {
            flat[i] = all.get(i);
        }
        return flat;
    }
}
