package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.hvd.Hvd;
import io.hvd.examples.data.Digits;
import io.hvd.examples.data.ImageSets;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.ParseException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** On ranks that are threads of this JVM, with 4 batches per epoch on each. */
class RunFlagsTest {
    private static final TrainingOptions.Defaults DEFAULTS = new TrainingOptions.Defaults(1, 8, 0.1, 1, 0);

    @TempDir
    Path folder;

    @Test
    void theCardHasTheMetricsOfEachEpochAndTheFlagsThatWereGiven() throws Exception {
        train("--epochs 2 --lr 0.05");

        JsonObject card = card();
        JsonObject second = card.getAsJsonArray("epochs").get(1).getAsJsonObject();
        assertThat(second.get("step").getAsInt()).isEqualTo(8);
        assertThat(second.getAsJsonObject("metrics").keySet()).containsExactly("accuracy", "test loss", "train loss");
        assertThat(second.getAsJsonObject("metrics").get("train loss").getAsDouble())
                .isPositive();
        assertThat(card.getAsJsonObject("parameters").get("lr").getAsString()).isEqualTo("0.05");
        assertThat(card.getAsJsonObject("exit").get("state").getAsString()).isEqualTo("finished");
        JsonObject rank1 = card.getAsJsonArray("ranks").get(1).getAsJsonObject().getAsJsonObject("total");
        assertThat(rank1.get("samples").getAsInt()).isEqualTo(64);
        assertThat(rank1.get("steps").getAsInt()).isEqualTo(8);
    }

    @Test
    void aFolderThatHoldsARunIsRefusedUnlessTheTrainingResumes() throws Exception {
        String checkpoint = " --checkpoint " + folder.resolve("c");
        train("--epochs 1" + checkpoint);

        assertThatThrownBy(() -> train("--epochs 2" + checkpoint))
                .hasStackTraceContaining("holds a training already")
                .hasStackTraceContaining(run().toString());

        train("--epochs 2 --resume" + checkpoint);
        assertThat(card().getAsJsonArray("epochs")).hasSize(2);
        assertThat(card().getAsJsonArray("starts")).hasSize(2);
    }

    @Test
    void aTrainingThatFailsLeavesItsCauseOnTheCard() {
        assertThatThrownBy(() -> train("--lr 1e30")).hasStackTraceContaining("loss");

        assertThat(card().getAsJsonObject("exit").get("state").getAsString()).isEqualTo("failed");
    }

    @Test
    void anEpochThatHadNoBatchLeftWhenItWasResumedHasNoTrainLossAndNoWarning() throws Exception {
        TrainingOptions options = options("--epochs 1");
        Hvd.spawn(2, hvd -> {
            RunRecord record = new RunRecord(hvd, "digits", options.run());
            return record.during(() -> {
                record.begins(4);
                record.epochBegins();
                record.epochEnds(0, Evaluation.NONE);
                return Evaluation.NONE;
            });
        });

        JsonObject epoch = card().getAsJsonArray("epochs").get(0).getAsJsonObject();
        assertThat(epoch.getAsJsonObject("metrics").keySet()).containsExactly("accuracy", "test loss");
        assertThat(card().getAsJsonArray("warnings").toString()).doesNotContain("train loss");
    }

    @Test
    void imagenetTakesHorovodsWordForTheFolder() throws Exception {
        ImageNetOptions options = ImageNetOptions.from(
                new DefaultParser().parse(ImageNetOptions.flags(), new String[] {"--log-dir", run().toString()}));
        assertThat(options.run().folder()).hasValue(run());
        assertThat(options.run().given()).isEmpty();

        assertThatThrownBy(() -> ImageNetOptions.from(new DefaultParser()
                        .parse(ImageNetOptions.flags(), new String[] {"--log-dir", "a", "--run-dir", "b"})))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining("--run-dir and --log-dir");
    }

    private Path run() {
        return folder.resolve("run");
    }

    private JsonObject card() {
        try {
            return JsonParser.parseString(Files.readString(run().resolve("run.json")))
                    .getAsJsonObject();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private void train(String flags) throws ParseException, IOException {
        TrainingOptions options = options(flags);
        ImageSets images = Digits.load().atMost(64, 10, 1);
        Hvd.spawn(2, hvd -> new ImageTraining("digits", hvd, options, images, DigitsNet::new).run());
    }

    private TrainingOptions options(String flags) throws ParseException {
        return TrainingOptions.from(
                new DefaultParser()
                        .parse(TrainingOptions.flags(DEFAULTS), (flags + " --workers 0 --run-dir " + run()).split(" ")),
                DEFAULTS);
    }
}
