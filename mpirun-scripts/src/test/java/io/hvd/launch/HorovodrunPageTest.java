package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** docs/reference/horovodrun.md has a row for every flag, with what it sets and a test that is there. */
final class HorovodrunPageTest {

    private static final Pattern NAME = Pattern.compile("(?<=`)--?[a-z][a-z-]*|(?<=`)-[a-zA-Z]+");
    private static final Pattern TEST = Pattern.compile("`(\\w+)\\.(\\w+)`");
    private static final int COLUMNS = 5;

    /** Flags and command, MPI, and what is printed. */
    private static final Pattern DRY_RUN = Pattern.compile(
            "```text\n\\$ mpirun-scripts/horovodrun (--dry-run .*?) +# under (Open MPI[^\n]*)\n(.*?)```",
            Pattern.DOTALL);

    /** The machine on which the page says they were typed. */
    private static final Machine NODE_1 = new Machine(
            "n1",
            16,
            1000,
            false,
            Optional.empty(),
            OptionalLong.of(1L << 30),
            Set.of("localhost", "n1"),
            Set.of("lo", "eth0", "docker0"),
            Map.of("HOME", "/home/ada", "PATH", "/usr/bin:/bin", "PWD", "/home/ada/hvd"));

    /** The cells of a row. */
    private record Row(String flag, String meaning, String sets, String key, String test) {
        List<String> names() {
            return NAME.matcher(flag).results().map(MatchResult::group).toList();
        }
    }

    @Test
    void everyFlagHasARowAndEveryRowAFlag() throws IOException {
        List<List<String>> flags = Arrays.stream(Flag.values()).map(Flag::names).toList();

        assertThat(rows().stream().map(Row::names)).containsExactlyInAnyOrderElementsOf(flags);
    }

    @Test
    void aRowNamesTheVariableAndTheKeyOfItsFlag() throws IOException {
        for (Row row : rows()) {
            Flag flag = flag(row);
            assertThat(row.key().replaceFirst("`([\\w.]+)`: false", "`!$1`").replace("`", ""))
                    .as(row.flag())
                    .isEqualTo(flag.key().orElse(""));
            if (flag.effect() instanceof Flag.ValueTo to) {
                assertThat(row.sets()).contains("`" + to.setting().variable() + "`");
            } else if (flag.effect() instanceof Flag.MebibytesTo to) {
                assertThat(row.sets()).contains("`" + to.setting().variable() + "`, in bytes");
            } else if (flag.effect() instanceof Flag.Constant to) {
                assertThat(row.sets()).contains("`" + to.variable() + "=" + to.value() + "`");
            } else if (flag.effect() instanceof Flag.NoEffect none) {
                assertThat(row.sets()).isEqualTo("a note: " + none.why());
            } else if (flag.effect() instanceof Flag.Refused) {
                assertThat(row.meaning()).startsWith("refused");
            }
        }
    }

    @Test
    void theTestOfEveryRowExists() throws IOException {
        for (Row row : rows()) {
            var test = TEST.matcher(row.test());
            assertThat(test.matches()).as(row.flag()).isTrue();
            Path source = Path.of("src/test/java/io/hvd/launch", test.group(1) + ".java");
            assertThat(source).as(row.flag()).content().contains("void " + test.group(2) + "(");
        }
    }

    @Test
    void theConfigFileOnThePageIsUnderstood(@TempDir Path folder) throws IOException {
        var yaml = Pattern.compile("```yaml\n(.*?)```", Pattern.DOTALL).matcher(page());
        assertThat(yaml.find()).isTrue();
        Path file = Files.writeString(folder.resolve("job.yaml"), yaml.group(1));

        LaunchSettings settings = LaunchOptions.parse(Map.of(), "-np", "1", "--config-file", file.toString(), "true");

        assertThat(settings.assignments()).extracting(Assignment::value).contains("67108864", "2.5", "timeline.json");
    }

    @Test
    void theDryRunsOnThePageAreWhatTheProgramPrints() throws IOException {
        Matcher shown = DRY_RUN.matcher(page());
        int count = 0;
        for (; shown.find(); count++) {
            MpiVersion version = MpiVersion.parse(shown.group(2).replace("Open MPI", "(Open MPI)"))
                    .orElseThrow();
            String[] args = ShellWords.split("page", shown.group(1)).toArray(String[]::new);
            LaunchSettings settings = LaunchOptions.parse(NODE_1.environment(), args);
            var job = new Job(settings, NODE_1, version, Map.of());

            assertThat(settings.action()).isEqualTo(LaunchSettings.Action.DRY_RUN);
            assertThat(shown.group(3))
                    .as(shown.group(1))
                    .isEqualTo(MpirunLine.of("mpirun", job, ClassArchive.none(""), Optional.empty())
                            .explained());
        }
        assertThat(count).isEqualTo(7);
    }

    private static Flag flag(Row row) {
        return Arrays.stream(Flag.values())
                .filter(flag -> flag.names().equals(row.names()))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no flag for the row of " + row.flag()));
    }

    private static List<Row> rows() throws IOException {
        List<Row> rows = new ArrayList<>();
        for (String line : page().split("\n")) {
            String[] cells =
                    line.replaceFirst("^\\| ", "").replaceFirst(" ?\\|$", "").split(" \\| ?", -1);
            if (line.startsWith("| `-") && cells.length == COLUMNS) {
                rows.add(new Row(cells[0], cells[1], cells[2], cells[3].strip(), cells[4]));
            }
        }
        return rows;
    }

    private static String page() throws IOException {
        return Files.readString(Path.of("..", "docs", "reference", "horovodrun.md"));
    }
}
