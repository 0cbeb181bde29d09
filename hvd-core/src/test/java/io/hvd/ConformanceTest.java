package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

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

/** Every test that docs/conformance.md names is there. */
class ConformanceTest {
    /** Tests run in the module's folder. */
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    private static final Pattern ROW = Pattern.compile("^\\| `(test_\\w+)` \\| (.+) \\|$", Pattern.MULTILINE);
    private static final Pattern TEST = Pattern.compile("`(\\w+)\\.(\\w+)`");

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
        List<MatchResult> named = rows().stream()
                .flatMap(row -> TEST.matcher(row.group(2)).results())
                .toList();
        assertThat(named).isNotEmpty();
        assertThat(named).allSatisfy(test -> {
            assertThat(sources).as(test.group()).containsKey(test.group(1));
            assertThat(sources.get(test.group(1))).as(test.group()).containsPattern("void " + test.group(2) + "\\(");
        });
    }

    private static List<MatchResult> rows() throws IOException {
        return ROW.matcher(Files.readString(ROOT.resolve("docs/conformance.md")))
                .results()
                .toList();
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
