package io.hvd.examples.data;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.data.Dataset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class MappedImagesTest {
    @TempDir
    private Path folder;

    @Test
    void allRanksOfAHostReadTheImagesThatOneOfThemHasDecoded() throws Exception {
        ImageSets drawn = ColouredPatterns.sets(40, 10, 3);
        AtomicInteger decoded = new AtomicInteger();
        Dataset<ImageSample> counted = new Dataset<>() {
            @Override
            public int size() {
                return drawn.train().size();
            }

            @Override
            public ImageSample get(int index) throws Exception {
                decoded.incrementAndGet();
                return drawn.train().get(index);
            }
        };
        ImageSets source = drawn.withTrain(counted);
        Path file = folder.resolve("images.hvd");
        for (int job = 0; job < 2; job++) {
            List<ImageSets> all = Hvd.spawn(3, hvd -> MappedImages.of(hvd, file, "drawn with seed 3", source));
            assertThat(decoded).hasValue(40);
            for (ImageSets images : all) {
                assertThat(images.train().size()).isEqualTo(40);
                assertThat(images.test()).isSameAs(drawn.test());
                assertThat(images.origin()).isEqualTo(DataOrigin.DRAWN);
                for (int index : IntStream.range(0, 40).toArray()) {
                    ImageSample found = images.train().get(index);
                    ImageSample expected = drawn.train().get(index);
                    assertThat(found.pixels()).isEqualTo(expected.pixels());
                    assertThat(found.label()).isEqualTo(expected.label());
                }
            }
        }
        assertThat(Files.size(file)).isGreaterThan(40L * 3 * 32 * 32 * 4);
    }
}
