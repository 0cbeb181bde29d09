package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.examples.data.Digits;
import io.hvd.examples.data.ImageSets;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Path;
import java.util.stream.IntStream;
import org.apache.commons.cli.DefaultParser;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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
