package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.testing.Job;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The classifier of sentences, on ranks and on the devices of one process. */
class TextCnnIT {
    private static final String SMALL =
            "textcnn --sentences 600 --embedding-dim 8 --global-batch 40 --epochs 1 --workers 1 ";
    private static final Pattern HELD = Pattern.compile("memory of \\w+ \\d.*?: (\\S+) MiB of weights.*");

    @Test
    void ranksHoldAlikeAndEachSentenceOfTheTestCountsOnce() throws Exception {
        TrainHere training = TrainHere.run((SMALL + "--threads 2").split(" "));

        assertThat(training.exitCode()).as(training.output()).isZero();
        assertThat(training.output())
                .contains("weights of all ranks are equal", "over 60 sentences", "mode ddp over 2: ")
                .contains("ranks=2 epochs=1 steps=14 ", " data=drawn mode=ddp devices=1 ");
        double[] held = held(training.output());
        assertThat(held).hasSize(2);
        assertThat(held[0]).isEqualTo(held[1]);
    }

    @Test
    void theFirstDeviceOfAProcessHoldsMoreThanTheOthers() throws Exception {
        TrainHere training = TrainHere.run((SMALL + "--mode dp --devices 3").split(" "));

        assertThat(training.exitCode()).as(training.output()).isZero();
        assertThat(training.output())
                .contains("mode dp over 3: ", "last forward: 3 devices", " mode=dp devices=3 ", "steps=14 ");
        double[] held = held(training.output());
        assertThat(held).hasSize(3);
        assertThat(held[0]).isGreaterThan(3 * held[1]);
        assertThat(held[1]).isEqualTo(held[2]);
    }

    /** Dropout has other masks on two ranks than on one, so only the number of bytes can be compared. */
    @Test
    void rowsAreFewerBytesThanTheWholeEmbedding() throws Exception {
        String dense =
                TrainHere.run((SMALL + "--threads 2 --max-steps 3").split(" ")).output();
        String rows = TrainHere.run((SMALL + "--threads 2 --max-steps 3 --sparse rows").split(" "))
                .output();

        assertThat(rows).contains("weights of all ranks are equal");
        assertThat(sentKib(rows)).isPositive().isLessThan(0.8 * sentKib(dense));
    }

    @Test
    void severalRanksWithSeveralDevicesEachAreRefused() throws Exception {
        TrainHere refused = TrainHere.run((SMALL + "--mode dp --threads 2").split(" "));

        assertThat(refused.exitCode()).isEqualTo(2);
        assertThat(refused.output()).contains("textcnn: --mode dp", "needs one rank, found 2 ranks");
    }

    @ParameterizedTest
    @Tag("long")
    @CsvSource({"1, --mode ddp", "2, --mode ddp", "4, --mode ddp", "2, --sparse rows", "1, --mode dp"})
    void thePresetFindsNineOfTenTopics(int ranks, String flags) {
        Job job = TrainJar.horovodrun(ranks, ("textcnn --preset quick " + flags).split(" "));

        ResultLine result = ResultLine.of(job);
        assertThat(result.accuracy()).as(job.output()).isGreaterThan(0.9);
        assertThat(result.ranks()).isEqualTo(ranks);
        Matcher end = Pattern.compile("test accuracy (\\S+) over 800 sentences").matcher(job.output());
        assertThat(end.find()).isTrue();
        assertThat(Double.parseDouble(end.group(1))).isEqualTo(result.accuracy(), within(1e-4));
    }

    private static double[] held(String output) {
        return HELD.matcher(output)
                .results()
                .mapToDouble(line -> Double.parseDouble(line.group(1)))
                .toArray();
    }

    private static double sentKib(String output) {
        Matcher sent = Pattern.compile("each rank has sent (\\S+) KiB").matcher(output);
        assertThat(sent.find()).as(output).isTrue();
        return Double.parseDouble(sent.group(1));
    }
}
