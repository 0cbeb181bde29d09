package io.hvd.examples.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.data.Dataset;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MnistTest {

    @TempDir
    Path directory;

    @Test
    void opensAllFourFiles() throws Exception {
        IdxFiles.write(directory, "train", 7);
        IdxFiles.write(directory, "t10k", 3);

        ImageSets mnist = Mnist.open(directory);
        assertThat(mnist.origin()).isEqualTo(DataOrigin.FILES);

        assertThat(mnist.train().size()).isEqualTo(7);
        assertThat(mnist.test().size()).isEqualTo(3);
        assertThat(mnist.rows()).isEqualTo(2);
        assertThat(mnist.columns()).isEqualTo(3);
        assertThat(mnist.train().get(4).label()).isEqualTo(4);
    }

    @Test
    void pixelsAreNormalisedAndBytesAreUnsigned() throws Exception {
        Files.write(
                directory.resolve("t10k-images-idx3-ubyte"), IdxFiles.bytes(new byte[] {0, -1, 33}, 0x803, 1, 1, 3));
        Files.write(directory.resolve("t10k-labels-idx1-ubyte"), IdxFiles.labels(9));
        ImageSample sample = MnistImages.read(
                        directory.resolve("t10k-images-idx3-ubyte"), directory.resolve("t10k-labels-idx1-ubyte"))
                .get(0);

        assertThat(sample.pixels()[0]).isCloseTo(-0.4242f, within(1e-4f));
        assertThat(sample.pixels()[1]).isCloseTo(2.8215f, within(1e-4f));
        assertThat(sample.pixels()[2]).isCloseTo(-0.0042f, within(1e-4f));
    }

    @Test
    void everyReaderGetsPixelsOfItsOwn() throws Exception {
        IdxFiles.write(directory, "train", 1);
        IdxFiles.write(directory, "t10k", 1);
        Dataset<ImageSample> train = Mnist.open(directory).train();
        float before = train.get(0).pixels()[0];
        train.get(0).pixels()[0] = 99;

        assertThat(train.get(0).pixels()[0]).isEqualTo(before);
    }

    @Test
    void compressedFilesAreFoundUnderTheirOwnName() throws Exception {
        IdxFiles.write(directory, "t10k", 5);
        IdxFiles.write(directory, "train", 5);
        try (var files = Files.list(directory)) {
            for (Path file : files.toList()) {
                Files.write(Path.of(file + ".gz"), IdxFiles.gzip(Files.readAllBytes(file)));
                Files.delete(file);
            }
        }

        assertThat(Mnist.open(directory).test().get(3).label()).isEqualTo(3);
    }

    @Test
    void aMissingFileIsNamed() throws Exception {
        IdxFiles.write(directory, "t10k", 5);
        assertThatThrownBy(() -> Mnist.open(directory))
                .isInstanceOf(NoSuchFileException.class)
                .hasMessageContainingAll(directory.toString(), "train-images-idx3-ubyte", ".gz");

        IdxFiles.write(directory, "train", 5);
        Files.delete(directory.resolve("train-labels-idx1-ubyte"));
        assertThatThrownBy(() -> Mnist.open(directory, 0.5))
                .isInstanceOf(NoSuchFileException.class)
                .hasMessageContaining("train-labels-idx1-ubyte");
    }

    @Test
    void withoutTrainingFilesTheTestFilesAreSplitAlwaysAlike() throws Exception {
        IdxFiles.write(directory, "t10k", 10);
        ImageSets mnist = Mnist.open(directory, 0.7);
        assertThat(mnist.origin()).isEqualTo(DataOrigin.FILES);

        List<Integer> train = labels(mnist.train());
        List<Integer> test = labels(mnist.test());
        assertThat(train).hasSize(7);
        assertThat(test).hasSize(3);
        var all = new ArrayList<>(train);
        all.addAll(test);
        assertThat(all)
                .containsExactlyInAnyOrderElementsOf(
                        IntStream.range(0, 10).boxed().toList());
        assertThat(labels(Mnist.open(directory, 0.7).train())).isEqualTo(train);
    }

    @Test
    void withTrainingFilesNothingIsSplit() throws Exception {
        IdxFiles.write(directory, "train", 7);
        IdxFiles.write(directory, "t10k", 3);

        assertThat(Mnist.open(directory, 0.5).train().size()).isEqualTo(7);
    }

    @Test
    void aTrainFractionThatLeavesNothingIsRefused() {
        for (double fraction : new double[] {0, 1, -0.5, Double.NaN}) {
            assertThatThrownBy(() -> Mnist.open(directory, fraction))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContainingAll("train fraction", String.valueOf(fraction));
        }
    }

    @Test
    void imagesAndLabelsMustBeAsMany() throws Exception {
        IdxFiles.write(directory, "t10k", 5);
        Files.write(directory.resolve("t10k-labels-idx1-ubyte"), IdxFiles.labels(1, 2, 3));

        assertThatThrownBy(() -> Mnist.open(directory, 0.5))
                .isInstanceOf(IOException.class)
                .hasMessageContainingAll("t10k-labels-idx1-ubyte", "found 3", "expected 5", "t10k-images-idx3-ubyte");
    }

    @Test
    void aLabelThatIsNoDigitIsNamedWithItsPlace() throws Exception {
        IdxFiles.write(directory, "t10k", 3);
        Files.write(directory.resolve("t10k-labels-idx1-ubyte"), IdxFiles.labels(1, 200, 3));

        assertThatThrownBy(() -> Mnist.open(directory, 0.5))
                .hasMessageContainingAll("t10k-labels-idx1-ubyte", "label 200", "place 1", "0..9");
    }

    @Test
    void trainingAndTestImagesMustHaveOneSize() throws Exception {
        IdxFiles.write(directory, "t10k", 1);
        IdxFiles.write(directory, "train", 1);
        Files.write(directory.resolve("train-images-idx3-ubyte"), IdxFiles.bytes(new byte[4], 0x803, 1, 2, 2));

        assertThatThrownBy(() -> Mnist.open(directory)).hasMessageContainingAll("2x2", "2x3");
    }

    private static List<Integer> labels(Dataset<ImageSample> images) throws Exception {
        var labels = new ArrayList<Integer>();
        for (int i = 0; i < images.size(); i++) {
            labels.add(images.get(i).label());
        }
        return labels;
    }
}
