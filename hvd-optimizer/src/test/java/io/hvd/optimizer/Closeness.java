package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;

/** Comparison of weights that were computed in another order of additions. */
public final class Closeness {
    private Closeness() {}

    /** Fails unless the arrays differ by at most {@code tolerance} of the largest element expected. */
    public static void assertClose(float[] actual, float[] expected, double tolerance) {
        assertThat(actual).hasSameSizeAs(expected);
        double largest = 0;
        for (float value : expected) {
            largest = Math.max(largest, Math.abs(value));
        }
        for (int i = 0; i < expected.length; i++) {
            assertThat((double) actual[i])
                    .as("element %d of %d", i, expected.length)
                    .isCloseTo(expected[i], org.assertj.core.data.Offset.offset(tolerance * largest));
        }
    }
}
