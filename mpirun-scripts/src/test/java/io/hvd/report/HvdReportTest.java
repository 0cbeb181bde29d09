package io.hvd.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Folders as {@code RunLog} writes them; {@link ReportBrowserIT} shows such a page in a browser. */
final class HvdReportTest {
    @TempDir
    private Path folder;

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    private WrittenRun run(String name, int ranks) throws IOException {
        return new WrittenRun(folder.resolve(name), ranks).write();
    }

    private int report(String... runs) {
        List<String> words = new ArrayList<>(List.of("-o", page().toString()));
        for (String run : runs) {
            words.add(folder.resolve(run).toString());
        }
        return new HvdReport(
                        new PrintStream(out, true, StandardCharsets.UTF_8),
                        new PrintStream(err, true, StandardCharsets.UTF_8))
                .run(words.toArray(String[]::new));
    }

    private Path page() {
        return folder.resolve("page.html");
    }

    private String html(String... runs) throws IOException {
        assertThat(report(runs)).as(err.toString(StandardCharsets.UTF_8)).isZero();
        return Files.readString(page());
    }

    @Test
    void aPageHasTheChartsOfOneRunAndLoadsNothing() throws IOException {
        run("a", 2);

        String html = html("a");

        assertThat(html)
                .contains("<figcaption>Loss<", "<figcaption>Accuracy<", "<figcaption>lr<")
                .contains("<figcaption>Samples per second of each rank<", "<figcaption>A step of each rank<")
                .contains("<figcaption>Peak memory of each rank&#39;s process<")
                .contains("<title>accuracy, step 20: 0.875</title>", "<title>rank 1, step 10: 160</title>")
                .contains("<title>rank 0, computing: 70 ms per step</title>")
                .contains("<title>rank 1, peak memory: 101 MiB</title>")
                .contains("<td>NaN</td>", "<dd>2026-01-02 03:05:06 UTC</dd>")
                .doesNotContain("<script", "src=", "href=", "url(", "peak memory in MiB/rank");
        assertThat(out.toString(StandardCharsets.UTF_8)).isEqualTo(page() + " shows 1 run\n");
    }

    @Test
    void severalRunsAreComparedByWhatDiffersBetweenThem() throws IOException {
        run("a", 2);
        run("b", 4).with("\"lr\":\"0.1\"", "\"lr\":\"0.2\",\"seed\":\"7\"").with("train.jar digits", "train.jar b");

        String html = html("a", "b");

        assertThat(html)
                .contains("<tr><td>--lr</td><td>0.1</td><td>0.2</td></tr>")
                .contains("<tr><td>--seed</td><td>–</td><td>7</td></tr>")
                .contains("<tr><td>ranks</td><td>2</td><td>4</td></tr>")
                .contains("<title>b, step 20: 0.875</title>", "<title>b, rank 3, step 10: 320</title>");
        assertThat(html.substring(html.indexOf("What differs"), html.indexOf("All versions")))
                .doesNotContain("version: Java", "train.jar");
        assertThat(html.substring(html.indexOf("All versions"))).contains("<td>version: Java</td><td>17</td><td>17<");
    }

    @Test
    void runsOfTheSameNameHaveTheirFoldersAsNames() throws IOException {
        run("x/run", 1);
        run("y/run", 1);

        assertThat(html("x/run", "y/run"))
                .contains("<h2>" + folder.resolve("x/run") + " <", "<h2>" + folder.resolve("y/run") + " <");
    }

    @Test
    void whatARunSaysIsNoMarkup() throws IOException {
        run("a", 1).with("\"digits\"", "\"<script>&'\\u0001\"").with("\"warnings\":[]", "\"warnings\":[\"a<b\"]");

        assertThat(html("a"))
                .contains("<dd>&lt;script&gt;&amp;&#39;\uFFFD</dd>", "<li>a&lt;b</li>")
                .doesNotContain("<script");
    }

    @Test
    void aRunThatSaysNothingOfItsEndIsRunningOrWasKilled() throws IOException {
        run("a", 1).with("finished", "running");
        run("b", 1).with("\"finished\"", "\"failed\",\"error\":\"HVD-201\",\"message\":\"rank 1 is gone\"");

        assertThat(html("a", "b"))
                .contains(">running, or killed</span>", ">failed</span>", ">HVD-201: rank 1 is gone</p>");
    }

    @Test
    void halfALineAtTheEndDoesNotCountAndOneWithinIsNamed() throws IOException {
        run("a", 1);
        Path scalars = folder.resolve("a/scalars.jsonl");
        String whole = Files.readString(scalars);
        Files.writeString(scalars, whole + "{\"time\":1,\"st");
        assertThat(html("a")).contains("step 20: 0.875");

        Files.writeString(scalars, whole + "{\"time\":1,\"st\n" + WrittenRun.scalar(30, "accuracy", "1"));
        assertThat(report("a")).isEqualTo(1);
        assertThat(err.toString(StandardCharsets.UTF_8)).startsWith("hvd-report: " + scalars + ", line 7: ");
    }

    @Test
    void filesThatAnEditorHasSavedInItsOwnWayAreReadAndOtherEncodingsNamed() throws IOException {
        run("a", 1);
        Path card = folder.resolve("a/run.json");
        Path scalars = folder.resolve("a/scalars.jsonl");
        String plain = html("a");
        for (Path file : List.of(card, scalars)) {
            Files.writeString(file, "\ufeff" + Files.readString(file).replace("\n", "\r\n"));
        }
        assertThat(html("a")).isEqualTo(plain);

        Files.writeString(scalars, Files.readString(scalars), StandardCharsets.UTF_16);
        assertThat(report("a")).isEqualTo(1);
        assertThat(err.toString(StandardCharsets.UTF_8)).contains(scalars.toString(), "UTF-16", "expected UTF-8");
    }

    @Test
    void withoutScalarsTheCardHasThoseOfTheEpochs() throws IOException {
        run("a", 1);
        Files.delete(folder.resolve("a/scalars.jsonl"));

        assertThat(html("a")).contains("<title>test loss, step 10: 0.5</title>");
    }

    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '`',
            value = {
                "\"format\":1, \"format\":2, `format is 2, expected 1`",
                "\"exit\", \"end\", has no field exit",
                "\"total\", \"sum\", has no field ranks[0].total",
                "\"step\":10, \"step\":\"ten\", $.epochs[0].step",
                "`\"epochs\":[{`, `\"epochs\":[{{`, line 1",
                "\"metrics\", \"values\", has no field epochs[0].metrics",
            })
    void aCardThatIsNoneIsRefusedWithItsFileAndField(String from, String to, String named) throws IOException {
        run("a", 1).with(from, to);

        assertThat(report("a")).isEqualTo(1);
        assertThat(err.toString(StandardCharsets.UTF_8))
                .startsWith("hvd-report: " + folder.resolve("a/run.json"))
                .contains(named)
                .hasLineCount(1);
        assertThat(page()).doesNotExist();
    }

    @Test
    void aFolderWithoutARunIsNamed() {
        assertThat(report("none")).isEqualTo(1);
        assertThat(err.toString(StandardCharsets.UTF_8))
                .isEqualTo("hvd-report: " + folder.resolve("none") + " holds no run: there is no run.json in it\n");
    }

    @Test
    void aCommandLineWithoutARunIsRefused() {
        assertThat(report()).isEqualTo(2);
        assertThat(err.toString(StandardCharsets.UTF_8)).startsWith("hvd-report: name the folder of a run; ");
    }
}
