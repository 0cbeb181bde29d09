package io.hvd.examples.synthetic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.examples.TrainHere;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.ParseException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** On ranks that are threads of this JVM. */
@Timeout(120)
class SyntheticBenchmarkTest {
    private static final String SMALL =
            "synthetic-benchmark --num-warmup-batches 1 --num-batches-per-iter 2 --num-iters 3 ";

    @Test
    void theRangeIsAlmostTwoStandardDeviations() {
        Rate rate = Rate.of(new double[] {8, 12, 9, 11});

        assertThat(rate.mean()).isEqualTo(10);
        assertThat(rate.range()).isCloseTo(1.96 * Math.sqrt(2.5), within(1e-12));
        assertThat(rate).hasToString("10.0 +- 3.1");
        assertThat(Rate.of(new double[] {5}).range()).isZero();
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource({
        "--threads 2 --fp16-allreduce, 2",
        "--threads 2 --use-adasum, 2",
        "--threads 1 --no-cuda, 1",
    })
    void itMeasuresImagesPerSecondOnAllRanks(String flags, int ranks) throws Exception {
        requireRates("--model mlp --image-size 8 --batch-size 2 " + flags, "mlp", 372_200, ranks);
    }

    @Test
    @Tag("long")
    void itMeasuresThePapersNets() throws Exception {
        String flags = "--image-size 32 --batch-size 4 --threads 2 --model ";
        requireRates(flags + "resnet18", "resnet18", 11_689_512, 2);
        requireRates(flags + "resnet50", "resnet50", 25_557_032, 2);
    }

    private static void requireRates(String flags, String model, int parameters, int ranks) throws Exception {
        TrainHere run = TrainHere.run((SMALL + flags).split(" "));

        assertThat(run.exitCode()).as(run.output()).isZero();
        assertThat(run.output())
                .contains("model " + model + ": " + parameters + " parameters", "pixels on each of " + ranks)
                .containsPattern("iteration 2: [1-9]\\d*\\.\\d images/s per rank")
                .containsPattern("images/s per rank: \\d+\\.\\d \\+- \\d+\\.\\d")
                .containsPattern("images/s of " + ranks + " ranks: \\d+\\.\\d \\+- \\d+\\.\\d");
        double perRank = figure(run, "images_per_second_per_rank");
        assertThat(figure(run, "images_per_second")).isCloseTo(ranks * perRank, within(0.01 * ranks * perRank + 0.2));
        assertThat(figure(run, "samples_per_second")).isPositive();
        assertThat(figure(run, "steps")).isEqualTo(6);
        assertThat(figure(run, "loss")).isBetween(0.0, 9.0);
        assertThat(run.output()).contains(" data=drawn model=" + model);
    }

    private static double figure(TrainHere run, String name) {
        String line = run.output().lines().reduce((first, second) -> second).orElseThrow();
        return Double.parseDouble(line.replaceFirst(".* " + name + "=(\\S+).*", "$1"));
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
        "--model vgg, '[resnet18, resnet34, resnet50, resnet101, mlp]'",
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
