package io.hvd.examples.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.data.Dataset;
import io.hvd.data.SplitMix64;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class SyntheticDigitsTest {

    @Test
    void aSampleDependsOnSeedAndIndexOnly() {
        var forward = SyntheticDigits.of(10, 3);
        var backward = SyntheticDigits.of(10, 3);
        ImageSample last = backward.get(9);
        for (int i = 0; i < 9; i++) {
            forward.get(i);
        }

        assertThat(forward.get(9).label()).isEqualTo(last.label());
        assertThat(forward.get(9).pixels()).isEqualTo(last.pixels());
        assertThat(SyntheticDigits.of(10, 4).get(9).pixels()).isNotEqualTo(last.pixels());
    }

    @Test
    void neighbouringSeedsShareNoSample() {
        var one = SyntheticDigits.of(20, 1);
        var two = SyntheticDigits.of(20, 2);
        for (int i = 0; i < 20; i++) {
            for (int j = 0; j < 20; j++) {
                assertThat(one.get(i).pixels()).isNotEqualTo(two.get(j).pixels());
            }
        }
    }

    @Test
    void theLabelsOfASeedArePinned() {
        var digits = SyntheticDigits.of(12, 42);
        int[] labels = new int[digits.size()];
        Arrays.setAll(labels, i -> digits.get(i).label());

        assertThat(labels).containsExactly(3, 9, 4, 4, 5, 8, 9, 9, 9, 5, 6, 0);
    }

    @Test
    void everyDigitIsAboutAsFrequent() {
        var digits = SyntheticDigits.of(2000, 5);
        int[] counts = new int[10];
        for (int i = 0; i < digits.size(); i++) {
            counts[digits.get(i).label()]++;
        }

        assertThat(Arrays.stream(counts)).allMatch(count -> count > 140 && count < 260);
    }

    @Test
    void theDigitStaysInsideTheImage() {
        for (int digit = 0; digit < 10; digit++) {
            for (int seed = 0; seed < 200; seed++) {
                var segments = SevenSegments.random(digit, new SplitMix64(seed));
                for (int i = -1; i <= 28; i++) {
                    float border =
                            segments.ink(-1, i) + segments.ink(28, i) + segments.ink(i, -1) + segments.ink(i, 28);
                    assertThat(border).as("digit %d, seed %d", digit, seed).isZero();
                }
            }
        }
    }

    @Test
    void indicesOutsideAreRefused() {
        assertThatThrownBy(() -> SyntheticDigits.of(3, 1).get(3))
                .isInstanceOf(IndexOutOfBoundsException.class)
                .hasMessageContaining("3");
        assertThatThrownBy(() -> SyntheticDigits.of(-1, 1)).hasMessageContainingAll("size", "-1");
    }

    /** Hard enough that a wrong gradient shows, easy enough to be learned: a linear classifier gets most, not all. */
    @Test
    void aLinearClassifierLearnsMostButNotAll() throws Exception {
        ImageSets digits = SyntheticDigits.sets(3000, 1000, 7);
        float[][] weights = new float[10][digits.rows() * digits.columns() + 1];
        for (int epoch = 0; epoch < 5; epoch++) {
            train(weights, digits.train());
        }

        assertThat(accuracy(weights, digits.test())).isBetween(0.8, 0.99);
    }

    private static void train(float[][] weights, Dataset<ImageSample> images) throws Exception {
        for (int i = 0; i < images.size(); i++) {
            ImageSample sample = images.get(i);
            double[] errors = softmax(weights, sample.pixels());
            errors[sample.label()] -= 1;
            for (int label = 0; label < weights.length; label++) {
                descend(weights[label], sample.pixels(), (float) (0.002 * errors[label]));
            }
        }
    }

    private static void descend(float[] weights, float[] pixels, float step) {
        for (int p = 0; p < pixels.length; p++) {
            weights[p] -= step * pixels[p];
        }
        weights[pixels.length] -= step;
    }

    private static double accuracy(float[][] weights, Dataset<ImageSample> images) throws Exception {
        int right = 0;
        for (int i = 0; i < images.size(); i++) {
            double[] chances = softmax(weights, images.get(i).pixels());
            double best = Arrays.stream(chances).max().orElseThrow();
            right += chances[images.get(i).label()] == best ? 1 : 0;
        }
        return (double) right / images.size();
    }

    private static double[] softmax(float[][] weights, float[] pixels) {
        double[] scores =
                Arrays.stream(weights).mapToDouble(row -> dot(row, pixels)).toArray();
        double largest = Arrays.stream(scores).max().orElseThrow();
        double[] powers =
                Arrays.stream(scores).map(score -> Math.exp(score - largest)).toArray();
        double sum = Arrays.stream(powers).sum();
        return Arrays.stream(powers).map(power -> power / sum).toArray();
    }

    private static double dot(float[] weights, float[] pixels) {
        double sum = weights[pixels.length];
        for (int p = 0; p < pixels.length; p++) {
            sum += weights[p] * pixels[p];
        }
        return sum;
    }
}
