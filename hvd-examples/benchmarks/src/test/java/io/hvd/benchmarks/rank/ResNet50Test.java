package io.hvd.benchmarks.rank;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class ResNet50Test {
    private final List<Integer> sizes = ResNet50.parameterSizes();

    /** As torchvision counts them. */
    @Test
    void itHasHundredSixtyOneParametersOfTwentyFiveMillionElements() {
        assertThat(sizes).hasSize(161);
        assertThat(GradientSet.named("resnet50").allElements()).isEqualTo(25_557_032);
        assertThat(GradientSet.named("resnet50").bytes()).isEqualTo(4L * 25_557_032);
    }

    @Test
    void theLayersStandInTheirOrder() {
        assertThat(sizes).startsWith(3 * 64 * 49, 64, 64, 64 * 64, 64, 64, 64 * 64 * 9);
        assertThat(sizes).endsWith(512 * 2048, 2048, 2048, 2048 * 1000, 1000);
        assertThat(sizes.stream().filter(size -> size == 512 * 512 * 9)).hasSize(3);
        assertThat(sizes).contains(1024 * 2048); // the last projection
    }

    @Test
    void theOtherBagIsFourHundredTimesFourKibibytes() {
        assertThat(GradientSet.named("400x4KiB").bytes()).isEqualTo(400 * 4096);
    }
}
