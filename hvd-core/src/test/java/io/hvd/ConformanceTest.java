package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.testing.Modules;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Every test that docs/records/conformance.md names is there, and JUnit runs it. */
class ConformanceTest {
    /** Tests run in the module's folder. */
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    private static final Pattern ROW = Pattern.compile("^\\| `(test_\\w+)` \\| (.+) \\|$", Pattern.MULTILINE);
    private static final Pattern TEST = Pattern.compile("`(\\w+)\\.(\\w+)`");
    private static final Pattern RUN_BY_JUNIT =
            Pattern.compile("@(Test|ParameterizedTest|RepeatedTest|TestFactory)\\b");
    private static final Pattern NEVER_RUN = Pattern.compile("@Disabled\\b");

    @Test
    void everyRowHasATestOfOursOrAReason() throws IOException {
        List<MatchResult> rows = rows();
        assertThat(rows).hasSize(115);
        assertThat(rows.stream().map(row -> row.group(1))).doesNotHaveDuplicates();
        assertThat(rows)
                .allSatisfy(row -> assertThat(row.group(2)).as(row.group(1)).isNotBlank());
    }

    @Test
    void everyTestThatIsNamedExists() throws IOException {
        Map<String, String> sources = sources();
        List<MatchResult> named = TEST.matcher(page()).results().toList();
        assertThat(named).isNotEmpty();
        assertThat(named).allSatisfy(test -> {
            assertThat(sources).as(test.group()).containsKey(test.group(1));
            requireRun(test.group(), annotations(sources.get(test.group(1)), test.group(2)));
        });
    }

    private static void requireRun(String test, String annotations) {
        assertThat(annotations).as(test).containsPattern(RUN_BY_JUNIT).doesNotContainPattern(NEVER_RUN);
    }

    /** The annotations of a method, each on lines of its own above it; empty if there is no such method. */
    private static String annotations(String source, String method) {
        return Pattern.compile(
                        "((?:^    @.*\\n(?:^(?: {5}|    \\}).*\\n)*)+)^    (?:\\w+ )*void " + method + "\\(",
                        Pattern.MULTILINE)
                .matcher(source)
                .results()
                .map(found -> found.group(1))
                .collect(Collectors.joining());
    }

    @Test
    void aMethodThatJUnitDoesNotRunIsNoTest() {
        String source =
                "class A {\n    @Test\n    void runs() {}\n\n    @Test\n    @Disabled(\"later\")\n    void rests() {}\n\n"
                        + "    private static void helps() {}\n\n    @ParameterizedTest\n    @ValueSource(\n            ints = {1})\n"
                        + "    void runsOften(int i) {}\n\n    @ParameterizedTest\n    @CsvSource({\n        \"a\",\n    })\n"
                        + "    void runsToo(String a) {}\n}\n";

        requireRun("runs", annotations(source, "runs"));
        requireRun("runsOften", annotations(source, "runsOften"));
        requireRun("runsToo", annotations(source, "runsToo"));
        assertThatThrownBy(() -> requireRun("rests", annotations(source, "rests")))
                .isInstanceOf(AssertionError.class);
        assertThat(annotations(source, "helps")).isEmpty();
        assertThat(annotations(source, "isMissing")).isEmpty();
    }

    @Test
    void everyBehaviourBeyondHorovodsTestsHasATest() throws IOException {
        List<String> behaviours = page().split("## Beyond Horovod's tests: the optimizer\n")[1]
                .split("\n## ")[0]
                .lines()
                .filter(line -> line.startsWith("| ") && !line.equals("| behaviour | test |"))
                .toList();
        assertThat(behaviours).hasSizeGreaterThan(30).doesNotHaveDuplicates();
        assertThat(behaviours).allSatisfy(row -> assertThat(row).containsPattern(TEST));
    }

    private static List<MatchResult> rows() throws IOException {
        return ROW.matcher(page()).results().toList();
    }

    private static String page() throws IOException {
        return Files.readString(ROOT.resolve("docs/records/conformance.md"));
    }

    /** The sources of all test classes, by their simple names. */
    private static Map<String, String> sources() {
        return Modules.sources("src/test/java").stream()
                .collect(Collectors.toMap(
                        file -> file.getFileName().toString().replace(".java", ""),
                        ConformanceTest::read,
                        (one, other) -> one + other));
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
