package io.hvd.examples.synthetic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.examples.TrainHere;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.ParseException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The parts that need no LibTorch; the benchmark runs in SmallTrainingsTest. */
@Timeout(120)
class SyntheticBenchmarkTest {
    @Test
    void theRangeIsAlmostTwoStandardDeviations() {
        Rate rate = Rate.of(new double[] {8, 12, 9, 11});

        assertThat(rate.mean()).isEqualTo(10);
        assertThat(rate.range()).isCloseTo(1.96 * Math.sqrt(2.5), within(1e-12));
        assertThat(rate).hasToString("10.0 +- 3.1");
        assertThat(Rate.of(new double[] {5}).range()).isZero();
    }

    @Test
    void theDefaultsAreThoseOfHorovodsBenchmarkAndThePresetWhatItsHelpSays() throws ParseException {
        SyntheticOptions options = parse("");

        assertThat(options.model()).isEqualTo("resnet50");
        assertThat(options.imageSize()).isEqualTo(224);
        assertThat(options.batchSize()).isEqualTo(32);
        assertThat(options.warmUpBatches()).isEqualTo(10);
        assertThat(options.batchesPerIteration()).isEqualTo(10);
        assertThat(options.iterations()).isEqualTo(10);
        assertThat(parse("--preset quick"))
                .isEqualTo(parse(SyntheticOptions.quickInFlags()))
                .isNotEqualTo(options);
        assertThat(parse("--preset quick --model mlp").model()).isEqualTo("mlp");
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource({
        "--model vgg, '[resnet18, resnet34, resnet50, resnet101, mlp], or vector:N'",
        "--model vector:0, expected one of",
        "--model vector:1e3, expected one of",
        "--use-adasum --fp16-allreduce, --use-adasum and --fp16-allreduce exclude",
        "--no-cuda --device cuda, --no-cuda and --device cuda exclude",
        "--use-adasum --threads 3, found 3 ranks",
        "--num-iters 0, --num-iters",
    })
    void aMistakeIsNamed(String flags, String named) throws Exception {
        TrainHere run = TrainHere.run(("synthetic-benchmark --image-size 8 " + flags).split(" "));

        assertThat(run.exitCode()).isEqualTo(2);
        assertThat(run.output()).contains("synthetic-benchmark: ", named);
    }

    private static SyntheticOptions parse(String flags) throws ParseException {
        String[] words = flags.isEmpty() ? new String[0] : flags.split(" ");
        return SyntheticOptions.from(new DefaultParser().parse(SyntheticOptions.flags(), words));
    }
}
