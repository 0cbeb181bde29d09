package io.hvd.examples.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.OptionalDouble;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CifarTest {
    private static final OptionalDouble NO_FRACTION = OptionalDouble.empty();

    @TempDir
    Path folder;

    @Test
    void batchesFollowEachOtherByTheirNumber() throws Exception {
        CifarFiles.writeBatch(folder.resolve("data_batch_10.bin"), 7);
        CifarFiles.writeBatch(folder.resolve("data_batch_1.bin"), 3, 4);
        CifarFiles.writeBatch(folder.resolve("data_batch_2.bin"), 5, 9, 0);
        CifarFiles.writeBatch(folder.resolve("test_batch.bin"), 8);

        ImageSets cifar = Cifar.open(folder, NO_FRACTION);

        assertThat(cifar.train().size()).isEqualTo(6);
        for (int i = 0; i < 6; i++) {
            assertThat(cifar.train().get(i).label()).isEqualTo(new int[] {3, 4, 5, 9, 0, 7}[i]);
        }
        assertThat(cifar.test().get(0).label()).isEqualTo(8);
        assertThat(cifar.channels()).isEqualTo(3);
        assertThat(cifar.rows()).isEqualTo(32);
        assertThat(cifar.columns()).isEqualTo(32);
        assertThat(cifar.classes()).isEqualTo(10);
        assertThatThrownBy(() -> cifar.train().get(6)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void channelsAreNormalisedEachInItsOwnWay() throws Exception {
        CifarFiles.writeBatch(folder.resolve("data_batch_1.bin"), 2, 9);
        CifarFiles.writeBatch(folder.resolve("test_batch.bin"), 0);

        float[] pixels = Cifar.open(folder, NO_FRACTION).train().get(1).pixels();

        assertThat(pixels).hasSize(3 * 32 * 32);
        assertThat(pixels[0]).isCloseTo((90 / 255f - 0.4915f) / 0.2470f, within(1e-5f));
        assertThat(pixels[1023]).isEqualTo(pixels[0]);
        assertThat(pixels[1024]).isCloseTo((91 / 255f - 0.4823f) / 0.2435f, within(1e-5f));
        assertThat(pixels[3071]).isCloseTo((92 / 255f - 0.4468f) / 0.2616f, within(1e-5f));
    }

    @Test
    void bytesAreUnsigned() throws Exception {
        byte[] record = new byte[CifarBatches.RECORD_BYTES];
        Arrays.fill(record, 1, record.length, (byte) 255);
        Files.write(folder.resolve("data_batch_1.bin"), record);
        CifarFiles.writeBatch(folder.resolve("test_batch.bin"), 0);

        float first = Cifar.open(folder, NO_FRACTION).train().get(0).pixels()[0];

        assertThat(first).isCloseTo((1 - 0.4915f) / 0.2470f, within(1e-5f));
    }

    @Test
    void aCutFileAndAnImpossibleLabelAreNamed() throws Exception {
        CifarFiles.writeBatch(folder.resolve("test_batch.bin"), 1, 10);
        assertThatThrownBy(() -> Cifar.open(folder, OptionalDouble.of(0.5)))
                .isInstanceOf(IOException.class)
                .hasMessageContainingAll("test_batch.bin", "label 10", "record 1", "0..9");

        Files.write(folder.resolve("test_batch.bin"), new byte[5000]);
        assertThatThrownBy(() -> Cifar.open(folder, OptionalDouble.of(0.5)))
                .isInstanceOf(IOException.class)
                .hasMessageContainingAll("test_batch.bin", "5000", "3073");
    }

    @Test
    void aMissingPartIsNamedUnlessTheOtherOneMayBeSplit() throws Exception {
        CifarFiles.writeBatch(
                folder.resolve("test_batch.bin"), IntStream.range(0, 10).toArray());
        assertThatThrownBy(() -> Cifar.open(folder, NO_FRACTION))
                .isInstanceOf(NoSuchFileException.class)
                .hasMessageContainingAll(folder.toString(), "no training images", "data_batch_1.bin", "train/");

        ImageSets split = Cifar.open(folder, OptionalDouble.of(0.7));

        assertThat(split.train().size()).isEqualTo(7);
        assertThat(split.test().size()).isEqualTo(3);
    }

    @Test
    void anEmptyFolderHoldsNothingWhateverTheFraction() {
        assertThatThrownBy(() -> Cifar.open(folder, OptionalDouble.of(0.5)))
                .isInstanceOf(NoSuchFileException.class)
                .hasMessageContaining("no training images");
    }

    @Test
    void aFolderThatIsNotThereIsNamed() {
        assertThatThrownBy(() -> Cifar.open(folder.resolve("nowhere"), NO_FRACTION))
                .isInstanceOf(NoSuchFileException.class)
                .hasMessageContainingAll("nowhere", "no such folder");
    }

    @Test
    void foldersOfJpegFilesAreFoundAsWell() throws Exception {
        CifarFiles.writeFolders(folder, 4, 2);

        ImageSets images = Cifar.open(folder, NO_FRACTION);

        assertThat(images.train().size()).isEqualTo(12);
        assertThat(images.test().size()).isEqualTo(6);
        assertThat(images.classes()).isEqualTo(3);
        assertThat(images.test().get(5).label()).isEqualTo(2);
    }

    @Test
    void bothPartsMustHaveTheSameClasses() throws Exception {
        CifarFiles.writeFolders(folder, 1, 1);
        Files.createDirectory(folder.resolve("test/yellow"));

        assertThatThrownBy(() -> Cifar.open(folder, NO_FRACTION))
                .isInstanceOf(IOException.class)
                .hasMessageContainingAll("[blue, green, red]", "[blue, green, red, yellow]");
    }

    @Test
    void aSmallerNumberOfImagesIsAlwaysTheSameMixture() throws Exception {
        CifarFiles.writeBatch(
                folder.resolve("data_batch_1.bin"),
                IntStream.range(0, 50).map(i -> i / 5).toArray());
        CifarFiles.writeBatch(folder.resolve("test_batch.bin"), 1, 2, 3);

        ImageSets some = Cifar.open(folder, NO_FRACTION).atMost(20, 100, 1);
        assertThat(some.origin()).isEqualTo(DataOrigin.FILES);

        assertThat(some.train().size()).isEqualTo(20);
        assertThat(some.test().size()).isEqualTo(3);
        int[] labels = labels(some);
        assertThat(Arrays.stream(labels).distinct().count()).isGreaterThan(5);
        assertThat(labels(Cifar.open(folder, NO_FRACTION).atMost(20, 100, 1))).isEqualTo(labels);
    }

    private static int[] labels(ImageSets sets) throws Exception {
        int[] labels = new int[sets.train().size()];
        for (int i = 0; i < labels.length; i++) {
            labels[i] = sets.train().get(i).label();
        }
        return labels;
    }
}
