package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.testing.Job;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The default example, a few epochs of it, through the real jar. */
class DigitsTrainingIT {
    private static final int EPOCHS = 4;

    /** Far above the tenth that guessing gives, well below what so few epochs reach on few ranks. */
    private static final double FAIR = 0.6;

    /** 1,438 training images, batches of 16. */
    private static final int STEPS_ON_TWO_RANKS = 45;

    private static Job jobOnTwoRanks;
    private static ResultLine onTwoRanks;

    @BeforeAll
    static void trainOnTwoRanks() {
        jobOnTwoRanks = TrainJar.horovodrun(2, withEpochs());
        onTwoRanks = ResultLine.of(jobOnTwoRanks);
    }

    @Test
    void twoRanksReportWhatTheyDid() {
        assertThat(onTwoRanks.example()).isEqualTo("digits");
        assertThat(onTwoRanks.ranks()).isEqualTo(2);
        assertThat(onTwoRanks.epochs()).isEqualTo(EPOCHS);
        assertThat(onTwoRanks.steps()).isEqualTo(EPOCHS * STEPS_ON_TWO_RANKS);
        assertThat(onTwoRanks.samplesPerSecond()).isPositive();
        assertThat(onTwoRanks.overlap()).isBetween(0.0, 1.0);
        assertThat(onTwoRanks.exposedMillis())
                .as("from the end of backward to the last averaged gradient")
                .isPositive();
        assertThat(onTwoRanks.accuracy()).isBetween(FAIR, 1.0);
        assertThat(
                        jobOnTwoRanks.lines(
                                "data shipped: 1438 training and 359 test images, batches of 32 on each of 2 ranks, 64 images in a"))
                .hasSize(1);
        assertThat(jobOnTwoRanks.lines("evaluated 359 distinct samples of the test set, on 2 ranks"))
                .hasSize(1);
    }

    /** PageCommandsIT trains on four every day. */
    @Test
    @Tag("long")
    void fourRanksLearnAsWell() {
        requireLearning(4);
    }

    /** HorovodMnistFlagsTest has the flag every day, on threads. */
    @Test
    @Tag("long")
    void adasumLearnsOnTwoRanks() {
        ResultLine result = ResultLine.of(TrainJar.horovodrun(2, withEpochs("--use-adasum")));

        assertThat(result.loss()).isNotEqualTo(onTwoRanks.loss());
        assertThat(result.accuracy()).isBetween(FAIR, 1.0);
    }

    @Test
    @Tag("long")
    void adasumRefusesThreeRanks() {
        Job refused = TrainJar.horovodrun(3, withEpochs("--use-adasum"));
        assertThat(refused.exitCode()).as(refused.output()).isEqualTo(2);
        assertThat(refused.output()).contains("power of two: found 3 ranks, expected 2 or 4");
    }

    @Test
    @Tag("long")
    void oneRankLearnsAsWell() {
        requireLearning(1);
    }

    private static void requireLearning(int ranks) {
        ResultLine result = digits(ranks);

        assertThat(result.ranks()).isEqualTo(ranks);
        assertThat(result.accuracy()).isBetween(FAIR, 1.0);
    }

    /** Rounded gradients leave a trace in the loss, and no more than that. */
    @Test
    @Tag("long")
    void gradientsMayTravelInHalfPrecision() {
        requireTraceOfRounding("--fp16-allreduce");
    }

    @Test
    @Tag("long")
    void gradientsMayTravelInBfloat16() {
        requireTraceOfRounding("--bf16-allreduce");
    }

    private void requireTraceOfRounding(String flag) {
        ResultLine result = digits(2, flag);

        assertThat(result.loss()).isNotEqualTo(onTwoRanks.loss()).isCloseTo(onTwoRanks.loss(), within(0.1));
        assertThat(result.accuracy()).isBetween(FAIR, 1.0);
    }

    @Test
    void severalBackwardPassesMakeOneStepWhoseGradientsTravelInHalfPrecision() {
        Job job = TrainJar.horovodrun(2, withEpochs("--backward-passes-per-step", "2", "--fp16-allreduce"));
        ResultLine result = ResultLine.of(job);

        assertThat(job.output()).contains("Compression.FP16 between ranks that are all on one host");
        assertThat(result.steps()).isEqualTo(EPOCHS * ((STEPS_ON_TWO_RANKS + 1) / 2));
        assertThat(result.accuracy()).isBetween(FAIR, 1.0);
    }

    private static ResultLine digits(int ranks, String... flags) {
        return ResultLine.of(TrainJar.horovodrun(ranks, withEpochs(flags)));
    }

    private static String[] withEpochs(String... flags) {
        String[] all = new String[flags.length + 3];
        all[0] = "digits";
        all[1] = "--epochs";
        all[2] = String.valueOf(EPOCHS);
        System.arraycopy(flags, 0, all, 3, flags.length);
        return all;
    }
}
