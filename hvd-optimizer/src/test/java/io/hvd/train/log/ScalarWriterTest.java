package io.hvd.train.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonParser;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.train.log.EventFileReader.Event;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class ScalarWriterTest {
    @TempDir
    Path folder;

    private static HvdContext alone() {
        return Hvd.init(InitOptions.standard());
    }

    private List<String> lines(String file) throws IOException {
        return Files.readAllLines(folder.resolve(file)).stream()
                .map(line -> line.replaceAll("^(\\{\"time\":)?[0-9.E]+,", ""))
                .toList();
    }

    private List<Event> events() throws IOException {
        return EventFileReader.read(EventFileReader.files(folder).get(0));
    }

    @Test
    void aScalarIsInAllThreeFilesBeforeTheyAreClosed() throws IOException {
        try (HvdContext hvd = alone();
                ScalarWriter writer = ScalarWriter.open(hvd, folder)) {
            writer.addScalar("loss/Prüfung", 0.1, 300);
            writer.addScalar("a \"rate\", small", 1e-7, 1L << 40);

            assertThat(lines("scalars.jsonl"))
                    .containsExactly(
                            "\"step\":300,\"tag\":\"loss/Prüfung\",\"value\":0.1}",
                            "\"step\":1099511627776,\"tag\":\"a \\\"rate\\\", small\",\"value\":1.0E-7}");
            assertThat(lines("scalars.csv"))
                    .containsExactly(
                            "time,step,tag,value",
                            "300,loss/Prüfung,0.1",
                            "1099511627776,\"a \"\"rate\"\", small\",1.0E-7");
            List<Event> events = events();
            assertThat(events).extracting(Event::tag).containsExactly(null, null, "loss/Prüfung", "a \"rate\", small");
            assertThat(events).extracting(Event::value).containsExactly(null, null, 0.1f, 1e-7f);
            assertThat(events).extracting(Event::step).containsExactly(0L, 1L, 300L, 1L << 40);
            assertThat(events.get(0).fileVersion()).isEqualTo("brain.Event:2");
            assertThat(events.get(1).sessionStatus()).isOne();
            assertThat(events).allMatch(event -> event.wallTime() > 1.7e9);
        }
    }

    @ParameterizedTest
    @ValueSource(doubles = {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY})
    void aValueThatIsNoNumberIsWrittenAsAWord(double value) throws IOException {
        try (HvdContext hvd = alone();
                ScalarWriter writer = ScalarWriter.open(hvd, folder)) {
            writer.addScalar("loss", value, 1);
        }
        assertThat(lines("scalars.jsonl")).containsExactly("\"step\":1,\"tag\":\"loss\",\"value\":\"" + value + "\"}");
        assertThat(events().get(2).value()).isEqualTo(Float.valueOf((float) value));
    }

    @Test
    void meansAreThoseOfTheRanksThatHaveAValueAndOnlyTheFirstRankWrites() throws IOException {
        Hvd.spawn(3, hvd -> {
            try (ScalarWriter writer = ScalarWriter.open(hvd, folder)) {
                writer.addScalar("of rank 0", hvd.rank(), 1);
                writer.addMean("loss", 10 * hvd.rank(), 1);
                if (hvd.rank() > 0) {
                    writer.addMean("loss", hvd.rank(), 2);
                }
                if (hvd.rank() == 0) {
                    assertThat(linesNow("scalars.csv")).containsExactly("time,step,tag,value", "1,of rank 0,0.0");
                }
                writer.writeMeans();
                writer.writeMeans();
            }
            return 0;
        });
        assertThat(lines("scalars.csv"))
                .containsExactly("time,step,tag,value", "1,of rank 0,0.0", "1,loss,10.0", "2,loss,1.5");
        assertThat(EventFileReader.files(folder)).hasSize(1);
    }

    private List<String> linesNow(String file) {
        try {
            return lines(file);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aResumedTrainingLeavesOutWhatCameAfterItsCheckpointAndALineThatWasCut() throws IOException {
        try (HvdContext hvd = alone()) {
            try (ScalarWriter writer = ScalarWriter.open(hvd, folder)) {
                for (int step = 1; step <= 4; step++) {
                    writer.addScalar("loss", step, step);
                }
            }
            Files.writeString(folder.resolve("scalars.jsonl"), "{\"time\":1,\"st", StandardOpenOption.APPEND);
            Files.writeString(folder.resolve("scalars.csv"), "1,5", StandardOpenOption.APPEND);
            try (ScalarWriter writer = ScalarWriter.resume(hvd, folder, 2)) {
                writer.addScalar("loss", 30, 3);
            }
        }
        assertThat(lines("scalars.csv"))
                .containsExactly("time,step,tag,value", "1,loss,1.0", "2,loss,2.0", "3,loss,30.0");
        assertThat(lines("scalars.jsonl")).hasSize(3).last().asString().contains("\"value\":30.0");
        List<Event> second = EventFileReader.read(EventFileReader.files(folder).get(1));
        assertThat(second.get(1)).extracting(Event::sessionStatus, Event::step).containsExactly(1L, 3L);
        assertThat(second.get(2)).extracting(Event::step, Event::value).containsExactly(3L, 30f);
    }

    @Test
    void aFolderWithATrainingIsRefusedOnAllRanks() throws IOException {
        Files.writeString(folder.resolve("scalars.csv"), "mine");
        Set<Integer> refused = ConcurrentHashMap.newKeySet();

        Hvd.spawn(2, hvd -> {
            assertThatThrownBy(() -> ScalarWriter.open(hvd, folder))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll(folder.toString(), "rank 0", "scalars.csv", "resume")
                    .extracting(e -> ((HvdException) e).id())
                    .isEqualTo(ErrorId.BAD_ARGUMENT);
            refused.add(hvd.rank());
            return 0;
        });

        assertThat(refused).containsExactly(0, 1);
        assertThat(folder.resolve("scalars.csv")).hasContent("mine");
    }

    @Test
    void filesThatAnEditorHasSavedInItsOwnWayAreGoneOnWith() throws IOException {
        try (HvdContext hvd = alone()) {
            try (ScalarWriter writer = ScalarWriter.open(hvd, folder)) {
                writer.addScalar("loss", 1, 1);
            }
            for (String name : List.of("scalars.jsonl", "scalars.csv")) {
                Path file = folder.resolve(name);
                Files.writeString(file, "\ufeff" + Files.readString(file).replace("\n", "\r\n"));
            }
            try (ScalarWriter writer = ScalarWriter.resume(hvd, folder, 1)) {
                writer.addScalar("loss", 2, 2);
            }
        }
        assertThat(lines("scalars.csv")).containsExactly("time,step,tag,value", "1,loss,1.0", "2,loss,2.0");
        assertThat(Files.readString(folder.resolve("scalars.jsonl"))).doesNotContain("\ufeff", "\r");
    }

    @Test
    void aLineThatIsNoScalarIsNamedAndTheFileStaysAsItWas() throws IOException {
        Files.writeString(folder.resolve("scalars.jsonl"), "{\"time\":1,\"step\":1,\"tag\":\"a\",\"value\":1}\n[]\n");
        try (HvdContext hvd = alone()) {
            assertThatThrownBy(() -> ScalarWriter.resume(hvd, folder, 9))
                    .hasMessageContainingAll("scalars.jsonl", "line 2", "[]");
        }
        assertThat(folder.resolve("scalars.jsonl")).content().endsWith("[]\n");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "two\nlines"})
    void aTagThatNoFileCouldHoldIsRefused(String tag) {
        try (HvdContext hvd = alone();
                ScalarWriter writer = ScalarWriter.open(hvd, folder)) {
            assertThatThrownBy(() -> writer.addScalar(tag, 1, 1)).hasMessageContaining("HVD-202");
            assertThatThrownBy(() -> writer.addMean(tag, 1, 1)).hasMessageContaining("HVD-202");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "\t",
                "a\tb",
                "a\rb",
                "a\nb",
                "\u0000",
                "a\u0085b",
                "a\u2028b",
                "a\u2029b",
                "\u001b[0m",
                "\ud800",
                "plain",
                "a,b",
                "q\"q",
                "=1+1",
                "a\u202eb",
                "\ud83d\ude00",
                "\u00a0",
                "loss,\"x\"/\u0660"
            })
    void everyTagIsRefusedWithItsReasonOrCanBeGoneOnWith(String tag) throws IOException {
        try (HvdContext hvd = alone()) {
            try (ScalarWriter writer = ScalarWriter.open(hvd, folder)) {
                if (tag.matches(" *+|(?s).*\n.*")) {
                    assertThatThrownBy(() -> writer.addScalar(tag, 1.5, 1))
                            .hasMessageContainingAll("HVD-202", tag.isBlank() ? "nothing but blanks" : "(U+000A)");
                    return;
                }
                writer.addScalar(tag, 1.5, 1);
                writer.addScalar("after", 2.5, 2);
            }
            try (ScalarWriter writer = ScalarWriter.resume(hvd, folder, 2)) {
                writer.addScalar("more", 3, 3);
            }
        }
        assertThat(Files.readString(folder.resolve("scalars.csv")).split("\n")).hasSize(4);
        List<String> tags = Stream.of(
                        Files.readString(folder.resolve("scalars.jsonl")).split("\n"))
                .map(line -> JsonParser.parseString(line)
                        .getAsJsonObject()
                        .get("tag")
                        .getAsString())
                .toList();
        String inUtf8 = new String(tag.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
        assertThat(tags).containsExactly(inUtf8, "after", "more");
    }

    @Test
    void aCarriageReturnInATagEndsNoLineOfARecord() throws IOException {
        Files.writeString(folder.resolve("scalars.csv"), "time,step,tag,value\n1.0,1,\"a\rb\",1.5\n2.0,9,x,1\n");
        try (HvdContext hvd = alone();
                ScalarWriter writer = ScalarWriter.resume(hvd, folder, 2)) {
            writer.addScalar("more", 3, 3);
        }
        assertThat(Files.readString(folder.resolve("scalars.csv")))
                .startsWith("time,step,tag,value\n1.0,1,\"a\rb\",1.5\n")
                .contains(",3,more,3.0\n")
                .doesNotContain(",9,x,");
    }
}
