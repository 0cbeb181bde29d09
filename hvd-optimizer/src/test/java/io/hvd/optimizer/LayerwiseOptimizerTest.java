package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.Arrays;
import java.util.Random;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** LARS and LAMB beside their papers' formulas, written out in float64 on vectors. */
class LayerwiseOptimizerTest {
    private static final int STEPS = 20;
    private static final double RATE = 0.75;
    private static final int[] LENGTHS = {9, 1, 30};

    /** Values of three layers, of which "bias" is the second. */
    private static float[][] start() {
        float[][] values = new float[LENGTHS.length][];
        for (int layer = 0; layer < LENGTHS.length; layer++) {
            values[layer] = random(layer, LENGTHS[layer], 1 + layer);
        }
        return values;
    }

    private static float[] random(long seed, int length, double scale) {
        Random random = new Random(seed);
        float[] values = new float[length];
        for (int i = 0; i < length; i++) {
            values[i] = (float) (scale * random.nextGaussian());
        }
        return values;
    }

    private static float[] gradient(int layer, int step) {
        return random(1000L * step + layer, LENGTHS[layer], Math.pow(10, layer - 1));
    }

    private static float[][] trained(Function<ArrayParameters, Optimizer> make) {
        float[][] values = start();
        float[][] gradients = new float[LENGTHS.length][];
        ArrayParameters parameters = new ArrayParameters();
        for (int layer = 0; layer < LENGTHS.length; layer++) {
            gradients[layer] = new float[LENGTHS[layer]];
            parameters.add(layer == 1 ? "bias" : "weight" + layer, values[layer], gradients[layer]);
        }
        Optimizer optimizer = make.apply(parameters);
        for (int step = 1; step <= STEPS; step++) {
            for (int layer = 0; layer < LENGTHS.length; layer++) {
                System.arraycopy(gradient(layer, step), 0, gradients[layer], 0, LENGTHS[layer]);
            }
            optimizer.step();
        }
        return values;
    }

    private static double[] doubles(float[] values) {
        double[] wide = new double[values.length];
        Arrays.setAll(wide, i -> values[i]);
        return wide;
    }

    private static double norm(double[] vector) {
        return Math.sqrt(Arrays.stream(vector).map(x -> x * x).sum());
    }

    private static double[] sum(double[] a, double factor, double[] b) {
        double[] sum = new double[a.length];
        Arrays.setAll(sum, i -> a[i] + factor * b[i]);
        return sum;
    }

    private static void assertSame(float[][] found, int layer, double[] expected) {
        float[] narrow = new float[expected.length];
        for (int i = 0; i < narrow.length; i++) {
            narrow[i] = (float) expected[i];
        }
        assertThat(found[layer]).isNotEqualTo(start()[layer]);
        Closeness.assertClose(found[layer], narrow, 1e-5);
    }

    /** Algorithm 1 of the paper has the learning rate in the velocity. */
    @ParameterizedTest
    @ValueSource(doubles = {0, 0.25})
    void larsTakesTheStepsOfThePaper(double decay) {
        float[][] found =
                trained(parameters -> new Lars(parameters, RATE, 0.875, decay, 0.125, name -> !name.equals("bias")));

        for (int layer = 0; layer < LENGTHS.length; layer++) {
            double[] w = doubles(start()[layer]);
            double[] v = new double[w.length];
            for (int step = 1; step <= STEPS; step++) {
                double[] g = doubles(gradient(layer, step));
                double beta = layer == 1 ? 0 : decay;
                double lambda = layer == 1 ? 1 : 0.125 * norm(w) / (norm(g) + decay * norm(w));
                v = sum(sum(new double[w.length], 0.875, v), RATE * lambda, sum(g, beta, w));
                w = sum(w, -1, v);
            }
            assertSame(found, layer, w);
        }
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, 0.25})
    void lambTakesTheStepsOfThePaper(double decay) {
        float[][] found = trained(
                parameters -> new Lamb(parameters, 0.05, 0.75, 0.875, 1e-3, decay, name -> !name.equals("bias")));

        for (int layer = 0; layer < LENGTHS.length; layer++) {
            double[] w = doubles(start()[layer]);
            double[] m = new double[w.length];
            double[] v = new double[w.length];
            for (int step = 1; step <= STEPS; step++) {
                double[] g = doubles(gradient(layer, step));
                double[] r = new double[w.length];
                for (int i = 0; i < w.length; i++) {
                    m[i] = 0.75 * m[i] + 0.25 * g[i];
                    v[i] = 0.875 * v[i] + 0.125 * g[i] * g[i];
                    r[i] = m[i] / (1 - Math.pow(0.75, step)) / (Math.sqrt(v[i] / (1 - Math.pow(0.875, step))) + 1e-3);
                }
                double[] u = layer == 1 ? r : sum(r, decay, w);
                w = sum(w, -0.05 * (layer == 1 ? 1 : norm(w) / norm(u)), u);
            }
            assertSame(found, layer, w);
        }
    }

    /** LibTorch has no Adadelta to compare with. Algorithm 1 of the paper, with torch's weight decay and factor. */
    @ParameterizedTest
    @ValueSource(doubles = {0, 0.25})
    void adadeltaTakesTheStepsOfThePaper(double decay) {
        float[][] found = trained(parameters -> new Adadelta(parameters, 0.5, 0.875, 1e-3, decay));

        for (int layer = 0; layer < LENGTHS.length; layer++) {
            double[] w = doubles(start()[layer]);
            double[] squares = new double[w.length];
            double[] steps = new double[w.length];
            for (int step = 1; step <= STEPS; step++) {
                double[] g = sum(doubles(gradient(layer, step)), decay, w);
                double[] delta = new double[w.length];
                for (int i = 0; i < w.length; i++) {
                    squares[i] = 0.875 * squares[i] + 0.125 * g[i] * g[i];
                    delta[i] = -Math.sqrt(steps[i] + 1e-3) / Math.sqrt(squares[i] + 1e-3) * g[i];
                    steps[i] = 0.875 * steps[i] + 0.125 * delta[i] * delta[i];
                }
                w = sum(w, 0.5, delta);
            }
            assertSame(found, layer, w);
        }
    }

    /** A ratio of norms would hold them at zero for ever, or make of a zero gradient a NaN. */
    @Test
    void valuesOfZeroMoveAndGradientsOfZeroDoNotHurt() {
        for (Function<ArrayParameters, Optimizer> make : java.util.List.<Function<ArrayParameters, Optimizer>>of(
                parameters -> new Lars(parameters, 0.5, 0, 0, 0.01, name -> true),
                parameters -> new Lamb(parameters, 0.5, 0, 0, 1e-12, 0, name -> true))) {
            float[] zeros = new float[2];
            float[] still = {3, 4};
            ArrayParameters parameters = new ArrayParameters()
                    .add("zeros", zeros, new float[] {1, 1})
                    .add("still", still, new float[2]);
            make.apply(parameters).step();
            Closeness.assertClose(zeros, new float[] {-0.5f, -0.5f}, 1e-6);
            assertThat(still).containsExactly(3, 4);
        }
    }

    @Test
    void aConstantOutsideItsRangeIsRefusedByItsName() {
        ArrayParameters parameters = new ArrayParameters().add("w", new float[1], new float[1]);

        assertRefused(() -> Sgd.nesterov(parameters, 0.1, 0, 0), "Sgd.nesterov: momentum is 0.0, expected more than 0");
        assertRefused(() -> new AdamW(parameters, 0.1, 0.9, 1, 1e-8, 0), "AdamW: beta2 is 1.0, expected at least 0");
        assertRefused(() -> new RmsProp(parameters, 0.1, 1, 1e-8, 0, 0), "RmsProp: alpha is 1.0, expected at least 0");
        assertRefused(() -> new Adagrad(parameters, 0.1, -1, 0, 1e-10), "Adagrad: rate decay is -1.0, expected");
        assertRefused(() -> new Adadelta(parameters, 1, 0.9, 0, 0), "Adadelta: epsilon is 0.0, expected more than 0");
        assertRefused(
                () -> new Lars(parameters, 0.1, 0.9, -1, 0.1, name -> true), "Lars: weight decay is -1.0, expected");
        assertRefused(() -> new Lars(parameters, 0.1, 0.9, 0, 0, name -> true), "Lars: trust is 0.0, expected more");
        assertRefused(
                () -> new Lamb(parameters, 0.1, Double.NaN, 0, 0, 0, name -> true), "Lamb: beta1 is NaN, expected");
    }

    private static void assertRefused(org.assertj.core.api.ThrowableAssert.ThrowingCallable call, String message) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BAD_ARGUMENT))
                .hasMessageContaining(message);
    }
}
