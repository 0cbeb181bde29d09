package io.hvd.launch.options;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.launch.hosts.MachineFacts;
import io.hvd.launch.line.LaunchFacts;
import io.hvd.launch.line.MpirunLine;
import io.hvd.launch.mpi.MpiVersion;
import io.hvd.launch.words.Argument;
import io.hvd.launch.words.ShellWords;
import java.io.IOException;
import java.io.UncheckedIOException;
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
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** docs/reference/horovodrun.md has every flag, with what it sets, and every flag has a test. */
final class HorovodrunPageTest {

    private static final Pattern NAME = Pattern.compile("(?<=`)--?[a-z][a-z-]*|(?<=`)-[a-zA-Z]+");

    /** Flags and command, MPI, and what is printed. */
    private static final Pattern DRY_RUN = Pattern.compile(
            "```text\n\\$ mpirun-scripts/horovodrun (--dry-run .*?) +# under (Open MPI[^\n]*)\n(.*?)```",
            Pattern.DOTALL);

    /** The machine on which the page says they were typed. */
    private static final MachineFacts NODE_1 = new MachineFacts(
            "n1",
            16,
            1000,
            false,
            Optional.empty(),
            OptionalLong.of(1L << 30),
            Set.of("localhost", "n1"),
            Set.of("lo", "eth0", "docker0"),
            Map.of("HOME", "/home/ada", "PATH", "/usr/bin:/bin", "PWD", "/home/ada/hvd"));

    /** The cells of a row; those of refused flags and of flags without effect set nothing. */
    private record Row(String flag, String meaning, String sets) {
        List<String> names() {
            return NAME.matcher(flag).results().map(MatchResult::group).toList();
        }
    }

    @Test
    void everyNameOfEveryFlagStandsInOneRow() throws IOException {
        assertThat(rows().stream().flatMap(row -> row.names().stream()))
                .containsExactlyInAnyOrderElementsOf(Arrays.stream(Flag.values())
                        .flatMap(flag -> flag.names().stream())
                        .toList());
    }

    @Test
    void aRowSaysWhatItsFlagsSetAndWhatIsRefusedOrHasNoEffect() throws IOException {
        for (Row row : rows()) {
            for (Flag flag : flags(row)) {
                if (flag.effect() instanceof FlagEffect.ValueTo to) {
                    assertThat(row.sets())
                            .as(row.flag())
                            .isEqualTo("`" + to.setting().variable() + "`");
                } else if (flag.effect() instanceof FlagEffect.MebibytesTo to) {
                    assertThat(row.sets()).isEqualTo("`" + to.setting().variable() + "`, in bytes");
                } else if (flag.effect() instanceof FlagEffect.Constant to) {
                    assertThat(row.sets()).contains("`" + to.variable() + "=" + to.value() + "`");
                } else if (flag.effect() instanceof FlagEffect.NoEffect none) {
                    assertThat(row.meaning()).isEqualTo("no effect: " + none.why());
                } else if (flag.effect() instanceof FlagEffect.Refused) {
                    assertThat(row.meaning()).startsWith("refused");
                }
            }
        }
    }

    /** A flag without a test of its own is one that nobody has tried. */
    @Test
    void aTestNamesEveryFlag() throws IOException {
        String tests;
        try (Stream<Path> sources = Files.walk(Path.of("src/test/java/io/hvd/launch"))) {
            tests = sources.filter(source -> source.toString().endsWith(".java"))
                    .filter(source -> !source.getParent().endsWith("setup"))
                    .filter(source -> !source.endsWith("HorovodrunPageTest.java"))
                    .map(HorovodrunPageTest::read)
                    .collect(Collectors.joining());
        }

        assertThat(Flag.values())
                .allSatisfy(flag -> assertThat(flag.names())
                        .anySatisfy(name -> assertThat(tests).containsPattern("\"" + name + "[\"=,]")));
    }

    @Test
    void theConfigFileOnThePageIsUnderstoodAndHasEveryKeyThatHasAnEffect(@TempDir Path folder) throws IOException {
        var yaml = Pattern.compile("```yaml\n(.*?)```", Pattern.DOTALL).matcher(page());
        assertThat(yaml.find()).isTrue();
        Path file = Files.writeString(folder.resolve("job.yaml"), yaml.group(1));

        LaunchSettings settings = LaunchOptions.parse(Map.of(), "-np", "1", "--config-file", file.toString(), "true");

        assertThat(settings.assignments()).extracting(Assignment::value).contains("67108864", "2.5", "timeline.json");
        assertThat(settings.notes()).isEmpty();
        assertThat(keys(yaml.group(1)))
                .containsExactlyInAnyOrderElementsOf(Arrays.stream(Flag.values())
                        .filter(flag -> !(flag.effect() instanceof FlagEffect.NoEffect))
                        .filter(flag -> !(flag.effect() instanceof FlagEffect.AsItIs))
                        .flatMap(flag -> flag.key().stream())
                        .map(key -> key.replace("!", ""))
                        .collect(Collectors.toSet()));
    }

    private static List<String> keys(String yaml) {
        List<String> keys = new ArrayList<>();
        String section = "";
        for (String line : yaml.split("\n")) {
            if (line.startsWith(" ")) {
                keys.add(section + "." + line.strip().replaceFirst(":.*", ""));
            } else {
                section = line.replace(":", "");
            }
        }
        return keys;
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
            var job = new LaunchFacts(settings, NODE_1, version);

            assertThat(settings.action()).isEqualTo(LaunchSettings.Action.DRY_RUN);
            assertThat(shown.group(3))
                    .as(shown.group(1))
                    .isEqualTo(MpirunLine.of("mpirun", job, Argument.note(""), Optional.empty())
                            .explained());
        }
        assertThat(count).isEqualTo(1);
    }

    /** The flags of a row in their order. */
    private static List<Flag> flags(Row row) {
        return Arrays.stream(Flag.values())
                .filter(flag -> row.names().containsAll(flag.names()))
                .toList();
    }

    private static List<Row> rows() throws IOException {
        return page().lines()
                .filter(line -> line.startsWith("| `-"))
                .map(line -> line.replaceFirst("^\\| ", "").split(" ?\\|(?: |$)", -1))
                .map(cells -> new Row(cells[0], cells[1], cells[2]))
                .toList();
    }

    private static String page() throws IOException {
        return Files.readString(Path.of("..", "docs", "reference", "horovodrun.md"));
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
