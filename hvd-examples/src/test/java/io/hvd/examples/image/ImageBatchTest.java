package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.examples.data.ImageSample;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ImageBatchTest {
    @Test
    void partsAreAboutEquallyLargeAndKeepTheOrder() {
        List<ImageBatch> parts = batch(10).parts(4);

        assertThat(parts).extracting(ImageBatch::size).containsExactly(3, 3, 4);
        assertThat(parts.get(1).labels()).containsExactly(3, 4, 5);
        assertThat(parts.get(2).pixels()).containsExactly(6, 60, 7, 70, 8, 80, 9, 90);
    }

    @Test
    void aSmallBatchIsItsOnlyPart() {
        ImageBatch batch = batch(4);

        assertThat(batch.parts(4)).containsExactly(batch);
    }

    /** Image i has the pixels i and 10 i, and the label i. */
    private static ImageBatch batch(int size) {
        return ImageBatch.of(IntStream.range(0, size)
                .mapToObj(i -> new ImageSample(new float[] {i, 10 * i}, i))
                .toList());
    }
}
