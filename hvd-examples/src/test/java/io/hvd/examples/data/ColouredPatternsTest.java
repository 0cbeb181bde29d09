package io.hvd.examples.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import org.junit.jupiter.api.Test;

class ColouredPatternsTest {
    private static final int PIXELS = 32 * 32;

    @Test
    void aSampleDependsOnSeedAndIndexOnly() {
        ImageSample last = ColouredPatterns.of(10, 3).get(9);
        var others = ColouredPatterns.of(10, 3);
        others.get(1);

        assertThat(others.get(9).label()).isEqualTo(last.label());
        assertThat(others.get(9).pixels()).isEqualTo(last.pixels());
        assertThat(ColouredPatterns.of(10, 4).get(9).pixels()).isNotEqualTo(last.pixels());
    }

    @Test
    void trainingAndTestImagesDiffer() throws Exception {
        ImageSets sets = ColouredPatterns.sets(5, 5, 1);

        assertThat(sets.train().get(0).pixels()).isNotEqualTo(sets.test().get(0).pixels());
        assertThat(sets.channels()).isEqualTo(3);
        assertThat(sets.classes()).isEqualTo(10);
    }

    @Test
    void everyClassIsAboutAsFrequent() {
        var images = ColouredPatterns.of(1000, 5);
        int[] counts = new int[10];
        for (int i = 0; i < images.size(); i++) {
            counts[images.get(i).label()]++;
        }

        assertThat(Arrays.stream(counts)).allMatch(count -> count > 60 && count < 140);
    }

    @Test
    void theFirstFiveClassesAreColdAndTheOthersWarm() {
        var images = ColouredPatterns.of(200, 6);
        for (int i = 0; i < images.size(); i++) {
            ImageSample image = images.get(i);
            boolean warm = channel(image, 0) > channel(image, 2);

            assertThat(warm).as("image %d, class %d", i, image.label()).isEqualTo(image.label() >= 5);
        }
    }

    @Test
    void indicesOutsideAreRefused() {
        assertThatThrownBy(() -> ColouredPatterns.of(3, 1).get(3)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> ColouredPatterns.of(-1, 1)).hasMessageContainingAll("size", "-1");
    }

    /** Mean of a channel as it was before the normalisation. */
    private static double channel(ImageSample image, int channel) {
        double mean = 0;
        for (int i = 0; i < PIXELS; i++) {
            mean += image.pixels()[channel * PIXELS + i] / PIXELS;
        }
        float zero = ColourScale.of(channel, 0);
        return (mean - zero) / (ColourScale.of(channel, 1) - zero);
    }
}
