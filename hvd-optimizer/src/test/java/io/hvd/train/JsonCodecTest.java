package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JsonCodecTest {
    private enum Kind {
        TRAIN,
        TEST
    }

    private record Score(String name, double value) {}

    private record Metrics(int epoch, Kind kind, List<Score> scores, Map<String, Long> counts, float[] rates) {}

    private static final class Plain {
        private int epoch = 1;
        private String text;
    }

    private static final JsonCodec<Score> SCORE = JsonCodec.of(Score.class);

    @Test
    void aRecordOfRecordsComesBackAsItWas() {
        JsonCodec<Metrics> codec = JsonCodec.of(Metrics.class);
        Metrics metrics = new Metrics(
                7,
                Kind.TEST,
                List.of(new Score("<größe> & 'Ω'\n", 0.1), new Score("", -1e300)),
                Map.of("seen", Long.MAX_VALUE),
                new float[] {0.1f, Float.MIN_VALUE});

        Metrics back = codec.decode(codec.encode(metrics));

        assertThat(back).usingRecursiveComparison().isEqualTo(metrics);
        assertThat(new String(codec.encode(metrics), StandardCharsets.UTF_8)).contains("<größe> & 'Ω'\\n");
    }

    @Test
    void classesWithFieldsAndArraysAndNullTravelToo() {
        JsonCodec<Plain> codec = JsonCodec.of(Plain.class);
        Plain plain = new Plain();
        plain.epoch = 9;
        plain.text = "x";

        assertThat(codec.decode(codec.encode(plain))).usingRecursiveComparison().isEqualTo(plain);
        assertThat(codec.decode(codec.encode(null))).isNull();
        assertThat(JsonCodec.of(int[].class).decode(bytes("[1, 2]"))).containsExactly(1, 2);
    }

    @Test
    void whatTheTextDoesNotNameIsEmptyAndWhatOnlyTheTextNamesIsPassedOver() {
        assertThat(SCORE.decode(bytes("{\"other\": [1, {}], \"value\": 2}"))).isEqualTo(new Score(null, 2));
    }

    @Test
    void ranksGetEachOthersRecords() {
        Hvd.spawn(3, hvd -> {
            Score mine = new Score("rank " + "x".repeat(hvd.rank()), hvd.rank() / 2.0);

            List<Score> all = hvd.allgatherObject("scores", mine, SCORE);
            Score first = hvd.broadcastObject("score", hvd.rank() == 1 ? mine : null, SCORE, 1);

            assertThat(all).containsExactly(new Score("rank ", 0), new Score("rank x", 0.5), new Score("rank xx", 1));
            assertThat(first).isEqualTo(new Score("rank x", 0.5));
            return null;
        });
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"name\": \"a\", \"value\": \"b\"}|column 27|$.value",
                "{\"name\": \"a\", \"value\": [1]}|column|$.value",
                "{\"name\": \"a\"|column 13|$.name",
                "{'name': 'a'}|column 3|$.",
                "[]|column 2|$",
                "{} {}|column 5|$",
                "``|column 1|$",
            })
    void textThatIsNoObjectOfTheClassIsRefusedWithTheClassAndThePosition(String text, String column, String path) {
        assertThatThrownBy(() -> SCORE.decode(bytes(text)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll(Score.class.getName(), "line 1 " + column, path)
                .hasMessageNotContainingAny("\n", "JsonReader");
    }

    @Test
    void bytesThatAreNoTextAreRefused() {
        assertThatThrownBy(() -> SCORE.decode(new byte[] {'"', (byte) 0xC3, '"'}))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("3 bytes", Score.class.getName(), "UTF-8");
    }

    @Test
    void whatJsonHasNoWordForIsRefusedOnTheRankThatSendsIt() {
        assertThatThrownBy(() -> SCORE.encode(new Score("loss", Double.NaN)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll(Score.class.getName(), "NaN");
    }

    @Test
    void aClassThatGsonCannotReachIsRefusedBeforeAnythingIsSent() {
        assertThatThrownBy(() -> JsonCodec.of(Thread.class))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("java.lang.Thread cannot be JSON");
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
