package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The language model, through the real jar. */
class CharLmIT {
    private static final Pattern EPOCH =
            Pattern.compile("epoch \\d/3: training loss (\\S+), test loss (\\S+), (\\S+) %");

    @TempDir
    Path folder;

    @Test
    void theLossFallsAndBothRanksEndWithTheSameWeights() {
        requireLearning(2);
    }

    @Test
    @Tag("long")
    void theLossOfOneRankFallsToo() {
        requireLearning(1);
    }

    /** A guess without any knowledge has a loss of 3.2, the logarithm of 25 characters. */
    private static void requireLearning(int ranks) {
        Job job = TrainJar.horovodrun(ranks, "char-lm", "--epochs", "3", "--hidden", "64", "--sample", "120");

        ResultLine result = ResultLine.of(job);
        assertThat(result.example()).isEqualTo("char-lm");
        assertThat(result.ranks()).isEqualTo(ranks);
        assertThat(result.data()).isEqualTo("drawn");
        List<Matcher> epochs = job.lines("epoch ").stream()
                .map(EPOCH::matcher)
                .filter(Matcher::find)
                .toList();
        assertThat(epochs).as(job.output()).hasSize(3);
        double first = Double.parseDouble(epochs.get(0).group(1));
        double last = Double.parseDouble(epochs.get(2).group(1));
        assertThat(first).isBetween(1.0, 3.2);
        assertThat(last).isLessThan(0.75 * first);
        assertThat(result.loss()).isEqualTo(Double.parseDouble(epochs.get(2).group(2)), within(1e-4));
        assertThat(result.accuracy()).isGreaterThan(0.6);
        assertThat(job.lines("weights of all ranks are equal, crc32 ")).hasSize(1);
        String sample = job.output().substring(job.output().indexOf("sample: "));
        assertThat(sample).containsPattern("[a-z-]+ and [a-z-]+ are [a-z]+");
    }

    @Test
    void aTextOfOnesOwnIsRead() throws IOException {
        Path text = Files.writeString(folder.resolve("text"), "to be or not to be\n".repeat(60));

        Job job = TrainJar.alone(
                "char-lm", "--data-file", text.toString(), "--epochs", "2", "--width", "10", "--hidden", "16");

        assertThat(ResultLine.of(job).steps()).isEqualTo(2 * 7);
        assertThat(ResultLine.of(job).data()).isEqualTo("files");
        assertThat(job.output().substring(job.output().indexOf("sample: "))).containsPattern("[to berns\n]{20}");
    }

    @Test
    void aTextThatIsTooShortOrMissingOrNoTextIsRefused() throws Exception {
        Path text = Files.writeString(folder.resolve("text"), "too short");
        assertThat(TrainHere.run("char-lm", "--data-file", text.toString()).output())
                .contains("char-lm: the text has 9 characters, expected at least 129, two samples of --width 64");
        assertThat(TrainHere.run(
                                "char-lm", "--data-file", folder.resolve("none").toString())
                        .output())
                .contains("none cannot be read: java.nio.file.NoSuchFileException");
        Files.write(text, new byte[] {(byte) 0xc3, (byte) 0x28});
        assertThat(TrainHere.run("char-lm", "--data-file", text.toString()).output())
                .contains("is not a text in UTF-8");
    }

    /** Rank 0 has its file, and is the one that prints. */
    @Test
    void aTextThatAnotherRankLacksIsNamedWithTheRankAndItsHost() throws IOException {
        Path own = Files.createDirectories(folder.resolve("rank-0"));
        Files.createDirectories(folder.resolve("rank-1"));
        Files.writeString(own.resolve("text"), "a text of rank 0\n".repeat(60));

        Job job = TrainJar.horovodrunInOwnFolders(2, folder, "char-lm", "--data-file", "text");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(2);
        // The launcher repeats what rank 0 has printed.
        assertThat(job.lines("--data-file text cannot be read: java.nio.file.NoSuchFileException: text, on rank 1 ("))
                .as(job.output())
                .filteredOn(line -> line.startsWith("char-lm: "))
                .hasSize(1);
    }

    @Test
    void ranksThatHaveReadDifferentTextsAreRefused() throws IOException {
        for (int rank = 0; rank < 2; rank++) {
            Path own = Files.createDirectories(folder.resolve("rank-" + rank));
            Files.writeString(own.resolve("text"), ("text of rank " + rank + "\n").repeat(60));
        }

        Job job = TrainJar.horovodrunInOwnFolders(2, folder, "char-lm", "--data-file", "text");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(2);
        assertThat(job.output()).contains("char-lm: the ranks have read different texts, crc32 by rank: [");
    }
}
