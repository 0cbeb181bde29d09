package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** docs/horovodrun.md has a row for every flag, with what it sets and a test that is there. */
final class HorovodrunPageTest {

    private static final Pattern NAME = Pattern.compile("(?<=`)--?[a-z][a-z-]*|(?<=`)-[a-zA-Z]+");
    private static final Pattern TEST = Pattern.compile("`(\\w+)\\.(\\w+)`");
    private static final int COLUMNS = 5;

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
        return Files.readString(Path.of("..", "docs", "horovodrun.md"));
    }
}
