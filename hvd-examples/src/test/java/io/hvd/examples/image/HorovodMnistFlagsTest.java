package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.examples.data.SyntheticDigits;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.ParseException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Command lines of Horovod's MNIST example, as they stand on the page for those who come from it. */
@Timeout(120)
class HorovodMnistFlagsTest {
    private static final Path PAGE = Path.of("..", "docs", "how-to", "from-horovod.md");
    private static final Pattern LINE =
            Pattern.compile("\\| `(horovodrun [^`]*|mpirun [^`]*)pytorch_mnist\\.py([^`]*)` \\|");
    private static final List<String> HOROVODS_FLAGS = List.of(
            "--batch-size",
            "--data-dir",
            "--epochs",
            "--fp16-allreduce",
            "--gradient-predivide-factor",
            "--log-interval",
            "--lr",
            "--momentum",
            "--no-cuda",
            "--seed",
            "--test-batch-size",
            "--use-adasum",
            "--use-mixed-precision");

    private static CommandLine line(String... flags) throws ParseException {
        return new DefaultParser().parse(new MnistExample().flags(), flags);
    }

    private static HorovodMnistFlags parse(String... flags) throws ParseException {
        return HorovodMnistFlags.of(line(flags));
    }

    /** The flags behind the script on each line of the page. */
    static Stream<String> pasted() throws IOException {
        return LINE.matcher(Files.readString(PAGE))
                .results()
                .map(found -> found.group(2).strip());
    }

    @ParameterizedTest
    @MethodSource("pasted")
    void everyLineOfThePageIsUnderstood(String flags) {
        assertThatCode(() -> new MnistExample().program(line(words(flags)))).doesNotThrowAnyException();
    }

    private static String[] words(String flags) {
        return flags.isEmpty() ? new String[0] : flags.split(" ");
    }

    @Test
    void thePageHasALineWithEachOfHorovodsFlags() throws IOException {
        TreeSet<String> shown = new TreeSet<>();
        pasted().flatMap(flags -> Arrays.stream(words(flags)))
                .filter(word -> word.startsWith("--"))
                .forEach(shown::add);

        assertThat(shown).containsExactlyElementsOf(HOROVODS_FLAGS);
    }

    @Test
    void withoutFlagsTheNumbersAreHorovods() throws ParseException {
        TrainingOptions options = TrainingOptions.from(line(), new TrainingOptions.Defaults(10, 64, 0.01, 1, 0.5));

        assertThat(List.of(options.epochs(), options.batchSize(), options.learningRate(), options.momentum()))
                .isEqualTo(List.of(10, 64, 0.01, 0.5));
        assertThat(options.seed()).isEqualTo(42);
        assertThat(options.compression()).isEqualTo(Compression.NONE);
        assertThat(options.precision()).isEqualTo(Precision.FP32);
        assertThat(parse()).isEqualTo(new HorovodMnistFlags(1000, 0, 1));
        assertThat(parse("--test-batch-size", "7", "--log-interval", "3", "--gradient-predivide-factor", "2"))
                .isEqualTo(new HorovodMnistFlags(7, 3, 2));
    }

    @Test
    void mixedPrecisionIsFloat16ByHorovodsNameToo() throws ParseException {
        assertThat(Precision.of(line("--use-mixed-precision"))).isEqualTo(Precision.FP16);
        assertThat(Precision.of(line("--use-mixed-precision", "--amp", "fp16"))).isEqualTo(Precision.FP16);
    }

    @ParameterizedTest
    @CsvSource({
        "--no-cuda --device cuda, --no-cuda and --device cuda exclude each other",
        "--use-mixed-precision --amp bf16, --use-mixed-precision and --amp bf16 exclude each other",
        "--gradient-predivide-factor 2 --use-adasum, --gradient-predivide-factor other than 1 and --use-adasum exclude",
        "--gradient-predivide-factor 2 --checkpoint-dir x, --gradient-predivide-factor other than 1 and --checkpoint-dir exclude",
        "--gradient-predivide-factor 0, --gradient-predivide-factor",
        "--log-interval -1, --log-interval",
        "--test-batch-size 0, --test-batch-size"
    })
    void whatCannotBeMeantIsAMistakeInTheFlags(String flags, String message) {
        assertThatThrownBy(() -> parse(flags.split(" ")))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining(message);
    }

    @Test
    void aLineHasSamplesShareLossAndTheScaleInMixedPrecision() {
        assertThat(HorovodMnistFlags.line(3, 0, 10, 47, 64, 3000, 2.3012345, 1))
                .isEqualTo("rank 3, epoch 1: 640 of 3000 samples (21 %), loss 2.301235");
        assertThat(HorovodMnistFlags.line(0, 1, 0, 47, 64, 3000, 0.5, 65536))
                .isEqualTo("rank 0, epoch 2: 0 of 3000 samples (0 %), loss 0.500000, loss scale 65536.0");
    }

    /** Dividing by a power of two before the sum and not after it changes no bit, so that only the flags' effects remain. */
    @Test
    void everyRankPrintsAtItsIntervalAndOthersThanThatNothingChanges() throws Exception {
        String plain = trained("");
        String flagged = trained("--log-interval 2 --test-batch-size 30 --gradient-predivide-factor 2 --no-cuda");
        String losses = "rank %d, epoch 1: %d of 40 samples \\(\\d+ %%\\), loss \\d\\.\\d{6}";

        assertThat(plain.lines()).noneMatch(each -> each.startsWith("rank "));
        for (int rank = 0; rank < 2; rank++) {
            for (int samples : new int[] {0, 16, 32}) {
                String wanted = String.format(Locale.ROOT, losses, rank, samples);
                assertThat(flagged.lines())
                        .filteredOn(each -> each.matches(wanted))
                        .hasSize(1);
            }
        }
        assertThat(result(flagged)).isEqualTo(result(plain));
        assertThat(flagged)
                .containsPattern("epoch 1/1: test loss \\d\\.\\d{4}, accuracy \\d+\\.\\d{2} % of 70 samples");
    }

    @Test
    void mixedPrecisionPrintsTheLossScale() throws Exception {
        String scaled = trained("--use-mixed-precision --log-interval 5 --fp16-allreduce");

        assertThat(scaled.lines())
                .filteredOn(each -> each.endsWith(", loss scale 65536.0"))
                .hasSizeBetween(1, 2);
        assertThat(scaled).contains("RESULT example=mnist ranks=2 ");
        assertThat(result(trained("--use-adasum"))).isNotEqualTo(result(trained("")));
    }

    /** Each of two ranks has 41 places for 81 images, and the last place of the second one is a repetition, which counts for nothing. */
    @Test
    void aBatchWithoutSamplesHasNoLine(@TempDir Path folder) throws Exception {
        String output = trained(81, "--log-interval 1 --checkpoint-dir " + folder);

        assertThat(output).doesNotContain("NaN");
        assertThat(output.lines().filter(each -> each.startsWith("rank 0, "))).hasSize(6);
        assertThat(output.lines().filter(each -> each.startsWith("rank 1, "))).hasSize(5);
    }

    /** The parts of the last line that do not depend on time. */
    private static String result(String output) {
        String last = output.lines()
                .filter(each -> each.startsWith("RESULT"))
                .findFirst()
                .orElseThrow();
        return last.substring(0, last.indexOf(" samples_per_second"));
    }

    private static String trained(String flags) throws Exception {
        return trained(80, flags);
    }

    private static String trained(int samples, String flags) throws Exception {
        CommandLine line =
                line(("--epochs 1 --batch-size 8 --workers 0 " + flags).strip().split(" "));
        TrainingOptions options = TrainingOptions.from(line, new TrainingOptions.Defaults(10, 64, 0.01, 1, 0.5));
        var images = SyntheticDigits.sets(samples, 70, 42);
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(output, true, StandardCharsets.UTF_8));
        try {
            Hvd.spawn(
                    2,
                    hvd -> new ImageTraining(
                                    RunStart.of("mnist", hvd, options),
                                    options,
                                    images,
                                    MnistNet::new,
                                    HorovodMnistFlags.of(line))
                            .run());
        } finally {
            System.setOut(before);
        }
        return output.toString(StandardCharsets.UTF_8);
    }
}
