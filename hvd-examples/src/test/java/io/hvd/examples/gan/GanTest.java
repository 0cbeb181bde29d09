package io.hvd.examples.gan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.examples.TrainHere;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** On ranks that are threads of this JVM. */
@Timeout(120)
class GanTest {
    private static final String TINY = "gan --modes 4 --deviation 0.15 --hidden 32 --batch-size 64 --points 3200 ";
    private static final Pattern RESULT = Pattern.compile(
            "RESULT example=gan ranks=(\\d) .* steps=(\\d+) loss=(\\S+) accuracy=(\\S+) .* data=drawn modes=4 covered=(\\d) evaluated=(\\d+)");

    @Test
    void theGeneratorLearnsToPlacePointsAroundAllModes() throws Exception {
        TrainHere run = TrainHere.run((TINY + "--epochs 5 --lr 0.004 --threads 2").split(" "));

        Matcher result = resultOf(run);
        assertThat(run.output())
                .containsPattern("before the training: 0\\.\\d % of 4096 generated points near a mode, 0 of 4 modes");
        assertThat(Double.parseDouble(result.group(4))).isGreaterThan(0.65);
        assertThat(result.group(5)).isEqualTo("4");
        assertThat(result.group(6)).isEqualTo("4096");
        assertThat(run.output())
                .containsPattern("generator: weights of all ranks are equal")
                .containsPattern("discriminator: weights of all ranks are equal");
    }

    /** Two optimizers whose parameters have the same names, and a backward pass through both nets. */
    @Test
    void fourRanksTrainAsOneRankWithTheWholeBatch() throws Exception {
        String flags = TINY + "--samples 1001 --max-steps 12 --threads ";

        Matcher four = resultOf(TrainHere.run((flags + 4).split(" ")));
        Matcher one = resultOf(TrainHere.run((flags + 1).split(" ")));

        assertThat(four.group(1)).isEqualTo("4");
        assertThat(four.group(2)).isEqualTo(one.group(2)).isEqualTo("12");
        assertThat(Double.parseDouble(four.group(3))).isCloseTo(Double.parseDouble(one.group(3)), within(1e-4));
        assertThat(Double.parseDouble(four.group(4))).isCloseTo(Double.parseDouble(one.group(4)), within(0.004));
        assertThat(four.group(6)).isEqualTo("1001");
    }

    @Test
    void aBatchThatCannotBeDealtToTheRanksIsRefused() throws Exception {
        TrainHere run = TrainHere.run("gan", "--batch-size", "64", "--threads", "3");

        assertThat(run.exitCode()).isEqualTo(2);
        assertThat(run.output()).contains("gan: --batch-size", "64", "3 ranks, 63 can");
    }

    private static Matcher resultOf(TrainHere run) {
        assertThat(run.exitCode()).as(run.output()).isZero();
        Matcher result = RESULT.matcher(run.output());
        assertThat(result.find()).as(run.output()).isTrue();
        return result;
    }
}
