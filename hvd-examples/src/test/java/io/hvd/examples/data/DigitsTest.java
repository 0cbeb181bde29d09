package io.hvd.examples.data;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.data.Dataset;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class DigitsTest {

    @Test
    void allDigitsAreThereSplitEightyToTwenty() throws Exception {
        ImageSets digits = Digits.load();

        assertThat(digits.train().size()).isEqualTo(1438);
        assertThat(digits.test().size()).isEqualTo(359);
        assertThat(digits.rows()).isEqualTo(8);
        assertThat(digits.columns()).isEqualTo(8);
        assertThat(labelCounts(digits)).containsExactly(178, 182, 177, 183, 181, 182, 181, 179, 174, 180);
    }

    @Test
    void pixelsLieBetweenZeroAndOne() throws Exception {
        Dataset<ImageSample> train = Digits.load().train();
        Set<Float> greys = new HashSet<>();
        for (int i = 0; i < train.size(); i++) {
            ImageSample sample = train.get(i);
            assertThat(sample.pixels()).hasSize(64);
            for (float pixel : sample.pixels()) {
                greys.add(pixel);
            }
        }

        assertThat(greys).hasSize(17).contains(0f, 1 / 16f, 1f).allMatch(grey -> grey >= 0 && grey <= 1);
    }

    @Test
    void theSplitIsAlwaysTheSame() throws Exception {
        Dataset<ImageSample> once = Digits.load().test();
        Dataset<ImageSample> again = Digits.load().test();

        for (int i = 0; i < once.size(); i++) {
            assertThat(again.get(i).label()).isEqualTo(once.get(i).label());
            assertThat(again.get(i).pixels()).isEqualTo(once.get(i).pixels());
        }
    }

    @Test
    void theAttributionTravelsWithTheData() throws Exception {
        try (InputStream text = Digits.class.getResourceAsStream("digits-ATTRIBUTION.txt")) {
            assertThat(new String(text.readAllBytes(), StandardCharsets.UTF_8))
                    .contains("Alpaydin", "Kaynak", "UCI Machine Learning Repository", "CC BY 4.0");
        }
    }

    private static int[] labelCounts(ImageSets digits) throws Exception {
        int[] counts = new int[10];
        for (Dataset<ImageSample> part : List.of(digits.train(), digits.test())) {
            for (int i = 0; i < part.size(); i++) {
                counts[part.get(i).label()]++;
            }
        }
        return counts;
    }
}
