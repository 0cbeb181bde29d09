package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.testing.Job;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** mnist with fewer bits, in its arithmetic or in its gradients, under real mpirun: another loss than in float32, but hardly. */
class MixedPrecisionIT {
    private static final String[] SHORT = {"mnist", "--epochs", "1", "--lr", "0.02"};

    private static ResultLine onTwoRanks;

    @BeforeAll
    static void trainInFloat32() {
        onTwoRanks = ResultLine.of(mnist(2));
    }

    @Test
    void aTrainingThatComputesAndSendsInBfloat16EndsNearTheLossOfOneInFloat32() {
        requireLossNear("--amp", "bf16", "--bf16-allreduce");
    }

    @Test
    @Tag("long")
    void aTrainingInFloat16EndsNearTheLossOfOneInFloat32() {
        requireLossNear("--amp", "fp16");
    }

    private static void requireLossNear(String... flags) {
        ResultLine result = ResultLine.of(mnist(2, flags));

        assertThat(result.loss()).isNotEqualTo(onTwoRanks.loss()).isCloseTo(onTwoRanks.loss(), within(0.2));
        assertThat(result.accuracy()).isCloseTo(onTwoRanks.accuracy(), within(0.1));
    }

    /** The weights have 16 bits beside their float32 copies, for which ImageTrainingTest has a training of its own every day; ThreadsIT has one by PowerSGD. */
    @Test
    @Tag("long")
    void aTrainingOfFloat16WeightsByPowerSgdEndsNearTheLossOfOneWithWholeGradientsAndSendsLess() {
        Job job = mnist(2, "--power-sgd", "4", "--amp", "O2");
        ResultLine result = ResultLine.of(job);

        assertThat(result.loss()).isNotEqualTo(onTwoRanks.loss()).isCloseTo(onTwoRanks.loss(), within(0.3));
        assertThat(job.lines("each rank has sent ")).hasSize(1);
    }

    @Test
    @Tag("long")
    void fourRanksTrainInBfloat16AndSendIt() {
        ResultLine result = ResultLine.of(mnist(4, "--amp", "bf16", "--bf16-allreduce"));

        assertThat(result.loss()).as("ln 10 before the training").isLessThan(2.1);
        assertThat(result.accuracy()).isGreaterThan(0.25);
    }

    private static Job mnist(int ranks, String... flags) {
        String[] all = new String[SHORT.length + flags.length];
        System.arraycopy(SHORT, 0, all, 0, SHORT.length);
        System.arraycopy(flags, 0, all, SHORT.length, flags.length);
        return TrainJar.horovodrun(ranks, all);
    }
}
