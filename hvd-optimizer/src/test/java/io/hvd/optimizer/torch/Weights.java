package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.tensor.Tensor;
import java.util.Map;

/** Compares two models, parameter by parameter. */
final class Weights {
    private Weights() {}

    /** The length of the difference of each parameter is at most that share of the length of the parameter. */
    static void assertSame(Map<String, Tensor> found, Map<String, Tensor> expected, double tolerance) {
        assertThat(found).containsOnlyKeys(expected.keySet());
        expected.forEach((name, tensor) -> assertThat(distance(floats(found.get(name)), floats(tensor)))
                .as("relative difference in %s", name)
                .isLessThanOrEqualTo(tolerance));
    }

    /** Whether training has moved every parameter, by more than a comparison would forgive. */
    static void assertMoved(Map<String, Tensor> found, Map<String, Tensor> before) {
        before.forEach((name, tensor) -> assertThat(distance(floats(found.get(name)), floats(tensor)))
                .as("how far %s has moved", name)
                .isGreaterThan(1e-3));
    }

    private static double distance(float[] found, float[] expected) {
        assertThat(found).hasSameSizeAs(expected);
        double difference = 0;
        double length = 0;
        for (int i = 0; i < expected.length; i++) {
            difference += Math.pow((double) found[i] - expected[i], 2);
            length += Math.pow(expected[i], 2);
        }
        return Math.sqrt(difference / length);
    }

    private static float[] floats(Tensor tensor) {
        return (float[]) tensor.toArray();
    }
}
