package io.hvd.examples.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.examples.TrainHere;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** On ranks that are threads of this JVM. */
@Timeout(120)
class CharTrainingTest {
    private static final String TINY =
            "char-lm --model transformer --hidden 16 --layers 1 --heads 2 --width 32 --workers 0 --sample 0 ";
    private static final Pattern EPOCH = Pattern.compile("epoch \\d+/\\d+: .*, perplexity (\\S+)");
    private static final Pattern RESULT = Pattern.compile(
            "RESULT example=char-lm .* steps=(\\d+) loss=(\\S+) accuracy=(\\S+) .* data=files model=transformer perplexity=(\\S+)");

    @TempDir
    Path folder;

    /** Nothing is known to a model whose perplexity is 25, the number of different characters. */
    @Test
    void theTransformersPerplexityFallsOnFourRanksAsOnOneWithTheSameBatch() throws Exception {
        String flags = "--epochs 3 --lr 0.01 ";

        List<Double> one = perplexities(flags + "--batch-size 32 --threads 1");
        List<Double> four = perplexities(flags + "--batch-size 8 --threads 4");

        assertThat(one).hasSize(3).isSortedAccordingTo(Comparator.reverseOrder());
        assertThat(one.get(0)).isBetween(5.0, 25.0);
        assertThat(one.get(2)).isLessThan(0.7 * one.get(0));
        for (int epoch = 0; epoch < 3; epoch++) {
            assertThat(four.get(epoch)).as("epoch %d", epoch).isCloseTo(one.get(epoch), within(0.02 * one.get(epoch)));
        }
    }

    @Test
    void twoBatchesOfAStepMakeTheStepOfOneBatchOfTwiceTheSize() throws Exception {
        double together = perplexity("--lr 0.01 --max-steps 6 --batch-size 16");
        double inTurn = perplexity("--lr 0.01 --max-steps 6 --batch-size 8 --backward-passes-per-step 2");
        double alone = perplexity("--lr 0.01 --max-steps 6 --batch-size 8");

        assertThat(inTurn).isCloseTo(together, within(1e-3 * together));
        assertThat(Math.abs(alone - together)).isGreaterThan(5e-3 * together);
    }

    @Test
    void autocastTrainsNearlyAsFloat32() throws Exception {
        double wide = perplexity("--lr 0.01 --max-steps 12");
        double narrow = perplexity("--lr 0.01 --max-steps 12 --bf16");

        assertThat(narrow).isNotEqualTo(wide).isCloseTo(wide, within(0.02 * wide));
    }

    /** Adam divides by the size of the gradients, unless they are far below its epsilon of 1e-8. */
    @Test
    void gradientsThatAreClippedToNothingTrainNothing() throws Exception {
        double clipped = perplexity("--lr 0.01 --max-steps 6 --clip 1e-14");
        double start = perplexity("--max-steps 1 --lr 1e-12");
        double free = perplexity("--lr 0.01 --max-steps 6 --clip 0");

        assertThat(clipped).isCloseTo(start, within(1e-3 * start));
        assertThat(free).isLessThan(0.95 * start);
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource({
        "--model rnn, 'expected one of [lstm, transformer]'",
        "--model transformer --hidden 30, 'a multiple of the 4 --heads'",
        "--heads 2, '--heads needs --model transformer'",
        "--clip -1, '--clip is \"-1\", expected a number of at least 0'",
        "--preset slow, '[quick]'",
    })
    void aMistakeIsNamed(String flags, String named) throws Exception {
        TrainHere run = TrainHere.run(("char-lm " + flags).split(" "));

        assertThat(run.exitCode()).isEqualTo(2);
        assertThat(run.output()).contains("char-lm: ", named);
    }

    private double perplexity(String flags) throws Exception {
        List<Double> all = perplexities(flags);
        return all.get(all.size() - 1);
    }

    /** The perplexity after each epoch; the last one is that of the result. */
    private List<Double> perplexities(String flags) throws Exception {
        // 320 samples of 32 characters, of which 288 are trained on: nine steps of 32
        Path text = Files.writeString(
                folder.resolve("text"), SumsInWords.of(10_300, 1).substring(0, 10_241));
        TrainHere run = TrainHere.run(
                (TINY + "--data-file " + text + " " + (flags.contains("--threads") ? "" : "--threads 1 ") + flags)
                        .split(" "));
        assertThat(run.exitCode()).as(run.output()).isZero();
        List<Double> found = EPOCH.matcher(run.output())
                .results()
                .map(epoch -> Double.parseDouble(epoch.group(1)))
                .toList();
        MatchResult result = RESULT.matcher(run.output()).results().findFirst().orElseThrow();
        assertThat(Double.parseDouble(result.group(4))).isEqualTo(found.get(found.size() - 1));
        assertThat(Math.exp(Double.parseDouble(result.group(2))))
                .isCloseTo(Double.parseDouble(result.group(4)), within(1e-3));
        return found;
    }
}
