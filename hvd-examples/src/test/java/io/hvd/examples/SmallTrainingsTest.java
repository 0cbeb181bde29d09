package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The smaller examples, on ranks that are threads of one JVM, since LibTorch takes seconds to load. */
@Timeout(120)
class SmallTrainingsTest {
    private static final String GAN = "gan --modes 4 --deviation 0.15 --hidden 32 --batch-size 64 --points 3200 ";
    private static final String BENCHMARK =
            "synthetic-benchmark --num-warmup-batches 1 --num-batches-per-iter 2 --num-iters 3 ";

    private static final Pattern GAN_RESULT = Pattern.compile(
            "RESULT example=gan ranks=(\\d) .* steps=(\\d+) loss=(\\S+) accuracy=(\\S+) .* data=drawn modes=4 covered=(\\d) evaluated=(\\d+)");

    @Test
    void theGeneratorLearnsToPlacePointsAroundAllModes() throws Exception {
        TrainHere run = TrainHere.run((GAN + "--epochs 5 --lr 0.004 --threads 2").split(" "));

        Matcher result = ganResultOf(run);
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
    void fourRanksTrainTwoNetsAsOneRankWithTheWholeBatch() throws Exception {
        String flags = GAN + "--samples 1001 --max-steps 12 --threads ";

        Matcher four = ganResultOf(TrainHere.run((flags + 4).split(" ")));
        Matcher one = ganResultOf(TrainHere.run((flags + 1).split(" ")));

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

    private static Matcher ganResultOf(TrainHere run) {
        assertThat(run.exitCode()).as(run.output()).isZero();
        Matcher result = GAN_RESULT.matcher(run.output());
        assertThat(result.find()).as(run.output()).isTrue();
        return result;
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource({
        "--threads 2 --fp16-allreduce, 2",
        "--threads 2 --use-adasum, 2",
        "--threads 1 --no-cuda, 1",
    })
    void theBenchmarkMeasuresImagesPerSecondOnAllRanks(String flags, int ranks) throws Exception {
        requireRates("--model mlp --image-size 8 --batch-size 2 " + flags, "mlp", 372_200, ranks);
    }

    /** 2,500 elements do not go evenly into 1,000 classes. */
    @Test
    void theBenchmarkMeasuresTheExchangeOfOneVector() throws Exception {
        requireRates("--model vector:2500 --image-size 8 --batch-size 2 --threads 2", "vector:2500", 2_500, 2);
    }

    @Test
    @Tag("long")
    void theBenchmarkMeasuresThePapersNets() throws Exception {
        String flags = "--image-size 32 --batch-size 4 --threads 2 --model ";
        requireRates(flags + "resnet18", "resnet18", 11_689_512, 2);
        requireRates(flags + "resnet50", "resnet50", 25_557_032, 2);
    }

    private static void requireRates(String flags, String model, int parameters, int ranks) throws Exception {
        TrainHere run = TrainHere.run((BENCHMARK + flags).split(" "));

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
}
