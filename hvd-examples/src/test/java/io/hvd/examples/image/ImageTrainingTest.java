package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.examples.data.Digits;
import io.hvd.examples.data.ImageSets;
import io.hvd.examples.training.TorchDevice;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.commons.cli.DefaultParser;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** On ranks that are threads of this JVM, with 4 batches per epoch on each. */
class ImageTrainingTest {
    private static final TrainingOptions.Defaults DEFAULTS = new TrainingOptions.Defaults(1, 8, 0.1, 1, 0);

    @TempDir
    Path folder;

    private float[] trained(String file, String flags) throws Exception {
        TrainingOptions options = TrainingOptions.from(
                new DefaultParser()
                        .parse(
                                TrainingOptions.flags(DEFAULTS),
                                (flags + " --workers 0 --checkpoint " + folder.resolve(file)).split(" ")),
                DEFAULTS);
        ImageSets images = Digits.load().atMost(64, 10, 1);
        Hvd.spawn(2, hvd -> new ImageTraining("digits", hvd, options, images, DigitsNet::new).run());
        return weights(file);
    }

    private float[] weights(String file) throws IOException {
        return Checkpoint.read(folder.resolve(file))
                .tensors()
                .get("model.dense2.weight")
                .toFloatArray();
    }

    /** 10 test images on 3 ranks, which evaluate 4, 3 and 3 of them in batches of 2. */
    @Test
    void anEvaluationIsOfEachTestImageOnce() throws Exception {
        ImageSets images = Digits.load().atMost(8, 10, 1);
        List<Evaluation> found = Hvd.spawn(3, hvd -> {
            TorchDevice device = TorchDevice.of(hvd, false);
            return new Evaluator(hvd, images, device, new DigitsNet(), 2, 0).evaluate(batch -> {});
        });

        assertThat(found).extracting(Evaluation::samples).containsOnly(10L);
        assertThat(found).extracting(Evaluation::distinct).containsOnly(10L);
    }

    /** A warm-up that is hardly begun has the rate of one rank, which is half of that of two. */
    @Test
    void aWarmUpBeginsWithTheRateOfOneRank() throws Exception {
        float[] warm = trained("warm", "--lr 0.1 --warmup-epochs 1000000");
        float[] half = trained("half", "--lr 0.05");
        float[] whole = trained("whole", "--lr 0.1");

        assertThat(warm).usingComparatorWithPrecision(1e-5f).containsExactly(half);
        assertThat(warm).usingComparatorWithPrecision(1e-5f).isNotEqualTo(whole);
    }

    /** The rate of every batch follows from its place in the training alone. */
    @Test
    void aResumeInTheMiddleOfTheWarmUpEndsWithTheVeryFileOfAnUninterruptedTraining() throws Exception {
        String flags = "--lr 0.1 --momentum 0.5 --warmup-epochs 2 --lr-decay 0.5 --epochs ";
        trained("uninterrupted", flags + 3);
        trained("parts", flags + 1);
        trained("parts", "--resume " + flags + 3);

        assertThat(folder.resolve("parts")).hasSameBinaryContentAs(folder.resolve("uninterrupted"));
    }

    @Test
    void batchesThatNoSyncAddsUpMakeTheStepsOfBatchesThatTheOptimizerAverages() throws Exception {
        float[] averaged = trained("averaged", "--backward-passes-per-step 2");
        float[] added = trained("added", "--backward-passes-per-step 2 --no-sync");

        assertThat(added).usingComparatorWithPrecision(1e-6f).containsExactly(averaged);
        assertThat(added).usingComparatorWithPrecision(1e-6f).isNotEqualTo(trained("single", "--epochs 1"));
    }

    /** Trains on 63 images, with a step of 16 at first, and returns the epoch and the index of each that was trained on. */
    private List<String> inASeries(int ranks, String flags) throws Exception {
        Path samples = folder.resolve("samples");
        TrainingOptions options = TrainingOptions.from(
                new DefaultParser()
                        .parse(
                                TrainingOptions.flags(DEFAULTS),
                                (flags + " --workers 1 --keep 2 --checkpoint-every 2 --checkpoint-dir "
                                                + folder.resolve("series") + " --record-samples " + samples)
                                        .split(" ")),
                DEFAULTS);
        ImageSets images = Digits.load().atMost(63, 10, 1);
        Hvd.spawn(ranks, hvd -> new ImageTraining("digits", hvd, options, images, DigitsNet::new).run());
        List<String> seen = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            for (String line : Files.readAllLines(Path.of(samples + "-" + rank))) {
                seen.add(line.replaceFirst(" [0-9]+ ", " "));
            }
        }
        return seen;
    }

    @Test
    void aSeriesOfCheckpointsGoesOnInTheMiddleOfAnEpochOnAnotherNumberOfRanksWithEachImageOnce() throws Exception {
        List<String> seen = new ArrayList<>(inASeries(2, "--epochs 2 --max-steps 6"));
        assertThat(seen).hasSize(63 + 2 * 16);
        seen.addAll(inASeries(3, "--epochs 2"));
        assertThat(seen)
                .containsExactlyInAnyOrderElementsOf(IntStream.range(0, 2 * 63)
                        .mapToObj(place -> place / 63 + " " + place % 63)
                        .toList());
        assertThat(inASeries(1, "--epochs 2")).isEmpty();
    }

    @Test
    void aSeriesThatCannotBeWrittenIsRefusedBeforeTheFirstStep() throws Exception {
        Path file = Files.createFile(folder.resolve("series"));
        assertThatThrownBy(() -> inASeries(2, "--epochs 2"))
                .hasStackTraceContaining("HVD-502")
                .hasStackTraceContaining(file + " by rank 0")
                .hasStackTraceContaining("expected a folder");
        assertThat(folder.resolve("samples-1")).isEmptyFile();
    }

    @Test
    void aSeriesInTwoPartsEndsWithTheVeryTensorsOfOneInOnePart() throws Exception {
        String flags = "--lr 0.1 --momentum 0.5 --warmup-epochs 2 --lr-decay 0.5 --epochs 2";
        inASeries(2, flags);
        Path whole = folder.resolve("series/step-0000000008.safetensors");
        byte[] expected = Files.readAllBytes(whole);
        try (var files = Files.list(folder.resolve("series"))) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
        inASeries(2, flags + " --max-steps 3");
        inASeries(2, flags);
        assertThat(whole).hasBinaryContent(expected);
    }

    /** Two ranks have 32 places each for 63 images, so that in a batch behind the first 31 only one of them has an image. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "--epochs 2",
                "--epochs 2 --amp fp16 --num-groups 2",
                "--epochs 2 --amp O2 --fp16-allreduce",
                "--epochs 2 --sharded-optimizer --momentum 0.5"
            })
    void aRankWithoutImagesInTheLastStepOfAnEpochTakesPartInIt(String flags) throws Exception {
        List<String> seen = new ArrayList<>(inASeries(2, flags + " --batch-size 31 --max-steps 1"));
        seen.addAll(inASeries(2, flags + " --batch-size 31"));
        assertThat(seen)
                .containsExactlyInAnyOrderElementsOf(IntStream.range(0, 2 * 63)
                        .mapToObj(place -> place / 63 + " " + place % 63)
                        .toList());
    }

    /** The weights of the file have 16 bits, and the optimizer's state has the float32 copies that the training goes on with. */
    @Test
    void aTrainingOfFloat16WeightsIsNearTheOneInFloat32AndIsResumedToTheBit() throws Exception {
        float[] narrow = trained("narrow", "--amp O2 --epochs 3");
        float[] wide = trained("wide", "--epochs 3");
        trained("resumed", "--amp O2 --epochs 1");
        trained("resumed", "--amp O2 --resume --epochs 3");

        float[] start = trained("start", "--lr 1e-30 --epochs 1");
        assertThat(distance(narrow, wide)).isLessThan(distance(start, wide) / 3);
        assertThat(narrow).isNotEqualTo(wide);
        assertThat(folder.resolve("resumed")).hasSameBinaryContentAs(folder.resolve("narrow"));
    }

    private static double distance(float[] one, float[] other) {
        return Math.sqrt(IntStream.range(0, one.length)
                .mapToDouble(i -> Math.pow(one[i] - other[i], 2))
                .sum());
    }

    @Test
    void float16WeightsAndASharedOutStateExcludeEachOther() {
        assertThatThrownBy(() -> trained("none", "--amp O2 --sharded-optimizer"))
                .hasMessageContainingAll("--amp O2", "--sharded-optimizer", "exclude");
    }
}
