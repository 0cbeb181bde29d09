package io.hvd.examples.finetune;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.commons.cli.ParseException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TextFilesTest {
    @TempDir
    Path folder;

    private static String lines(String format) {
        return IntStream.range(0, 20)
                .mapToObj(i ->
                        format.replace("LABEL", i % 2 == 0 ? "good" : "bad").replace("TEXT", "number " + i))
                .collect(Collectors.joining("\n"));
    }

    private List<TextSample> read(String name, String text, Task task) throws Exception {
        return new TextFiles(Files.writeString(folder.resolve(name), text), task, Set.of()).read();
    }

    @Test
    void tablesAndJsonLinesHaveTheFieldsOfTheTask() throws Exception {
        assertThat(read("a.tsv", lines("LABEL\tTEXT\twith a tab"), Task.CLASSIFY))
                .hasSize(20)
                .startsWith(
                        new TextSample("good", "number 0 with a tab", ""),
                        new TextSample("bad", "number 1 with a tab", ""));
        assertThat(read("b.tsv", lines("TEXT\tsecond TEXT"), Task.PAIRS))
                .startsWith(new TextSample("", "number 0", "second number 0"));
        assertThat(read("c.txt", lines("TEXT"), Task.LM)).startsWith(new TextSample("", "number 0", ""));
        assertThat(read("d.jsonl", lines("{\"text\": \"TEXT\", \"other\": [1], \"label\": \"LABEL\"}"), Task.CLASSIFY))
                .startsWith(new TextSample("good", "number 0", ""), new TextSample("bad", "number 1", ""));
    }

    /** As fortune(6) keeps them. */
    @Test
    void aFolderOfShortTextsGivesCategoriesOrHalves() throws Exception {
        Files.writeString(
                folder.resolve("art"),
                IntStream.range(0, 15)
                        .mapToObj(i -> "a painting that is\nnumber " + i)
                        .collect(Collectors.joining("\n%\n")));
        Files.writeString(
                folder.resolve("law"),
                "two words\n%\n"
                        + IntStream.range(0, 15)
                                .mapToObj(i -> "a judge in court " + i)
                                .collect(Collectors.joining("\n%\n")));
        Files.writeString(folder.resolve("law.dat"), "not a text");
        Files.writeString(folder.resolve("pets"), "a dog and a cat\n");

        List<TextSample> both = new TextFiles(folder, Task.CLASSIFY, Set.of("art", "law")).read();
        assertThat(both)
                .hasSize(30)
                .contains(
                        new TextSample("art", "a painting that is number 3", ""),
                        new TextSample("law", "a judge in court 14", ""));
        assertThat(new TextFiles(folder, Task.CLASSIFY, Set.of()).read()).hasSize(31);
        assertThat(new TextFiles(folder, Task.PAIRS, Set.of()).read())
                .contains(new TextSample("law", "a judge", "in court 14"));
        assertThatThrownBy(() -> new TextFiles(folder, Task.CLASSIFY, Set.of("art", "food")).read())
                .isInstanceOf(ParseException.class)
                .hasMessageContainingAll("--categories", "food", "has only [art]");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "a.tsv   | no tab      | CLASSIFY | line 1: found \"no tab\", expected [label, text] with a tab",
                "b.jsonl | {\"text\": 1 | CLASSIFY | expected [label, text] in a JSON object",
                "c.jsonl | {\"text\": 1} | PAIRS   | line 1",
                "d.tsv   | good\ttext   | CLASSIFY | has 1 texts of 1 categories, expected at least 20 with 2",
            })
    void whatIsMissingIsNamed(String name, String text, Task task, String message) {
        assertThatThrownBy(() -> read(name, text.replace("\\t", "\t"), task))
                .isInstanceOf(ParseException.class)
                .hasMessageContainingAll("--data", name, message);
    }
}
