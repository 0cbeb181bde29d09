package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.Hvd;
import io.hvd.examples.data.ImageSets;
import io.hvd.train.Checkpoint;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import org.apache.commons.cli.ParseException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** On ranks that are threads of this JVM, each with statistics and gradients of its own. */
class CifarTrainingTest {
    @TempDir
    Path folder;

    /** 31 test images cannot be dealt evenly to 3 ranks. */
    @Test
    void everyRankFindsTheSameMeansOverAllTestImages() throws Exception {
        CifarOptions options = CifarOptionsTest.parse(
                "--width 2 -b 12 --epochs 1 --max-steps 3 --train-images 60 --test-images 31 --print-freq 2 --images-per-pass 3");
        ImageSets images = CifarExample.images(options);

        List<Evaluation> found = Hvd.spawn(3, hvd -> new CifarTraining(hvd, options, images).run());

        assertThat(found.get(0).samples()).isEqualTo(31);
        assertThat(found.get(0).top5()).isGreaterThanOrEqualTo(found.get(0).accuracy());
        assertThat(found).hasSize(3).containsOnly(found.get(0));
    }

    @Test
    void aResumedTrainingEndsWithTheVeryFileOfAnUninterruptedOne() throws Exception {
        trainOnTwoRanks("--epochs 2 --checkpoint " + folder.resolve("whole"));
        trainOnTwoRanks("--epochs 1 --checkpoint " + folder.resolve("parts"));
        trainOnTwoRanks("--epochs 2 --resume --checkpoint " + folder.resolve("parts"));

        assertThat(folder.resolve("parts")).hasSameBinaryContentAs(folder.resolve("whole"));
        assertThat(Checkpoint.read(folder.resolve("parts")).metadata())
                .containsEntry("epochs", "2")
                .containsEntry("arch", "resnet18")
                .containsKey("best_accuracy");
    }

    /** A step of four passes: the loss before it is that in float32 but for the rounding of the forward pass. */
    @ParameterizedTest
    @ValueSource(strings = {"bf16", "fp16", "O2"})
    void inMixedPrecisionAStepIsThatInFloat32ButForItsRounding(String precision) throws Exception {
        String flags =
                "--width 4 -b 64 --images-per-pass 8 --epochs 1 --train-images 64 --test-images 31 --lr 0.01 --checkpoint ";
        Evaluation plain = train(flags + folder.resolve("plain"), 2);
        Evaluation mixed = train(flags + folder.resolve("mixed") + " --amp " + precision, 2);

        assertThat(mixed.loss()).isCloseTo(plain.loss(), within(0.02)).isNotEqualTo(plain.loss());
        assertThat(Checkpoint.read(folder.resolve("mixed")).tensors().keySet())
                .filteredOn(name -> !name.startsWith("optimizer.master."))
                .containsExactlyElementsOf(
                        Checkpoint.read(folder.resolve("plain")).tensors().keySet());
    }

    @ParameterizedTest
    @ValueSource(strings = {"--mode dp --devices 2", "--sync-bn"})
    void mixedPrecisionIsForRanksWithBatchNormsOfTheirOwn(String flags) {
        assertThatThrownBy(() -> CifarOptionsTest.parse("--amp bf16 " + flags))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining("--amp");
    }

    @Test
    void whatIsNotThereCannotBeEvaluated() {
        assertThatThrownBy(() -> trainOnTwoRanks("--evaluate --checkpoint " + folder.resolve("none")))
                .hasRootCauseInstanceOf(NoSuchFileException.class)
                .hasMessageContaining(folder.resolve("none").toString());
    }

    @Test
    void drawnImagesAreLearned() throws Exception {
        Evaluation end = train("--width 4 -b 32 --epochs 2 --train-images 640 --test-images 100", 2);

        assertThat(end.accuracy()).isGreaterThan(0.25);
        assertThat(end.top5()).isGreaterThan(0.75);
    }

    /** One step over all eight images; the first batch norm sees the same values wherever they are. */
    @Test
    void synchronisedBatchNormsFollowTheBatchesOfAllRanks() throws Exception {
        String flags = "--width 2 -b 8 --train-images 8 --test-images 9 --workers 0 --epochs 1 --checkpoint ";
        train(flags + folder.resolve("one"), 1);
        train(flags + folder.resolve("plain"), 2);
        train("--sync-bn " + flags + folder.resolve("synced"), 2);

        assertThat(firstVariances("synced")).usingComparatorWithPrecision(1e-5f).containsExactly(firstVariances("one"));
        assertThat(firstVariances("plain")).usingComparatorWithPrecision(1e-5f).isNotEqualTo(firstVariances("one"));
    }

    @Test
    void oneDeviceOfAProcessTrainsAsOneRankDoesBitByBit() throws Exception {
        String flags = "--width 2 -b 8 --train-images 24 --test-images 9 --workers 0 --epochs 1 --checkpoint ";
        train(flags + folder.resolve("rank"), 1);
        train("--mode dp --devices 1 " + flags + folder.resolve("device"), 1);

        assertThat(folder.resolve("device")).hasSameBinaryContentAs(folder.resolve("rank"));
    }

    /** A batch norm sees the part of its device, so the weights are not those of one rank. */
    @Test
    void threeDevicesOfAProcessTrainToo() throws Exception {
        Evaluation end =
                train("--mode dp --devices 3 --width 4 -b 32 --epochs 2 --train-images 320 --test-images 100", 1);

        assertThat(end.top5()).isGreaterThan(0.75);
        assertThat(end.samples()).isEqualTo(100);
    }

    @Test
    void severalDevicesOfEachRankAreRefused() {
        assertThatThrownBy(() -> trainOnTwoRanks("--mode dp"))
                .rootCause()
                .isInstanceOf(ParseException.class)
                .hasMessageContainingAll("--mode dp", "needs one rank, found 2 ranks");
    }

    private float[] firstVariances(String file) throws Exception {
        return Checkpoint.read(folder.resolve(file))
                .tensors()
                .get("model.bn1.running_var")
                .toFloatArray();
    }

    private static void trainOnTwoRanks(String flags) throws Exception {
        train("--width 2 -b 8 --train-images 24 --test-images 9 --workers 0 " + flags, 2);
    }

    private static Evaluation train(String flags, int ranks) throws Exception {
        CifarOptions options = CifarOptionsTest.parse(flags);
        ImageSets images = CifarExample.images(options);
        return Hvd.spawn(ranks, hvd -> new CifarTraining(hvd, options, images).run())
                .get(0);
    }
}
