package io.hvd.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.examples.Example;
import io.hvd.examples.Train;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.commons.cli.ParseException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With a launcher that is made up: it starts nothing, and prints a result line that it makes of its arguments. */
class ExamplesBenchTest {
    private static final String HEAD = "# Examples\n\n";
    private static final String REST = "\nmore\n";

    @TempDir
    Path folder;

    private Path launcher;
    private Path page;

    @BeforeEach
    void makeUpALauncher() throws IOException {
        launcher = Files.createDirectories(folder.resolve("mpirun-scripts")).resolve("horovodrun");
        page = Files.writeString(
                folder.resolve("examples.md"),
                HEAD + ExamplesBench.BEGIN + "\nan older table\n" + ExamplesBench.END + REST);
        launcherDoes("");
    }

    private void launcherDoes(String first) throws IOException {
        Files.writeString(launcher, String.format(Locale.ROOT, """
                #!/bin/sh
                # A made-up launcher: -np RANKS java -jar JAR [NAME] [FLAG ...]
                %s
                case "$*" in *hang-demo*) echo "hvd: HANG: made up"; exit 1 ;; esac
                echo "RESULT example=made-up ranks=$2 loss=0.$2 accuracy=0.9$2 samples_per_second=10$2 data=drawn"
                """, first));
        assertThat(launcher.toFile().setExecutable(true)).isTrue();
    }

    private record Ended(int exitCode, String output) {}

    private Ended bench(String... flags) throws Exception {
        List<String> all = new ArrayList<>(List.of("--launcher", launcher.toString(), "--threads", "0"));
        all.addAll(List.of(flags));
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        int exitCode =
                ExamplesBench.run(new PrintStream(printed, true, StandardCharsets.UTF_8), all.toArray(String[]::new));
        return new Ended(exitCode, printed.toString(StandardCharsets.UTF_8));
    }

    @Test
    void everyExampleIsInTheTableOfThePageOrLeftOutWithAReason() throws Exception {
        Ended ended = bench("--ranks", "1,2", "--page", page.toString());

        assertThat(ended.exitCode()).as(ended.output()).isZero();
        String written = Files.readString(page);
        assertThat(written)
                .startsWith(HEAD + ExamplesBench.BEGIN + "\nOn date=")
                .endsWith(ExamplesBench.END + REST);
        assertThat(written).doesNotContain("an older table");
        for (Example example : Train.examples()) {
            assertThat(written).containsPattern("(?m)^(\\| |- )`" + example.name() + "[ `].*(\\||: \\w.*)$");
        }
        assertThat(written)
                .containsPattern(
                        "\\| `digits --epochs 5` \\| 1 \\| [\\d.]+ \\| 0\\.1 \\| 0\\.91 \\| 101 \\| [\\d.]+ \\|\n")
                .containsPattern(
                        "\\| `digits --epochs 5` \\| 2 \\| [\\d.]+ \\| 0\\.2 \\| 0\\.92 \\| 102 \\| [\\d.]+ \\|\n")
                .containsPattern("\\| `djl-mnist --epochs 1 .*` \\| 2 \\|")
                .containsPattern("\\| `hang-demo --after 3` \\| 2 \\| [\\d.]+ \\| - \\| - \\| - \\|")
                .contains("- `hang-demo --after 3` on 1: it needs 2 ranks")
                .contains("- `gpu-check`: it checks GPUs and trains nothing");
        assertThat(ended.output()).contains(" 0 failed");
    }

    @Test
    void aRunThatFailsIsToldWithItsLastWordsAndThePageStaysAsItWas() throws Exception {
        launcherDoes("case \"$*\" in *char-lm*) [ \"$2\" = 1 ] || { echo the disk is full; exit 7; } ;; esac");
        String before = Files.readString(page);

        Ended ended = bench("--ranks", "1,2", "--page", page.toString());

        assertThat(ended.exitCode()).isEqualTo(1);
        assertThat(ended.output())
                .contains(
                        "FAILED char-lm --preset quick --sample 0 on 2: exit code 7, expected 0\n  the disk is full\n")
                .contains(" 2 failed", "is left as it was");
        assertThat(Files.readString(page)).isEqualTo(before);
    }

    @Test
    void aRunWithoutAResultLineHasFailed() throws Exception {
        launcherDoes("exit 0");

        Ended ended = bench("--ranks", "2", "--only", "digits");

        assertThat(ended.exitCode()).isEqualTo(1);
        assertThat(ended.output()).contains("FAILED digits --epochs 5 on 2: no line begins with RESULT example=");
    }

    @Test
    void aNameThatIsNoneAndATableOfSomeExamplesAreRefused() {
        assertThatThrownBy(() -> bench("--only", "digits,digit"))
                .isInstanceOf(ParseException.class)
                .hasMessageContainingAll("--only names the example \"digit\", expected some of [digits, ", "djl-mnist");
        assertThatThrownBy(() -> bench("--only", "digits", "--page", page.toString()))
                .hasMessageContaining("--page is for all examples, found --only too");
        assertThatThrownBy(() -> bench("--ranks", "two"))
                .hasMessageContaining("--ranks has \"two\", expected a number");
    }
}
