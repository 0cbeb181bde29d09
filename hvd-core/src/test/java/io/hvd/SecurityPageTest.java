package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Modules;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** docs/reference/security.md: every claim has a test, and every test that it names is there. */
class SecurityPageTest {
    private static final Path PAGE = Path.of("../docs/reference/security.md");
    private static final Pattern TEST_CLASS = Pattern.compile("`(\\w+(?:Test|IT))(?:\\.(\\w+))?`");

    @Test
    void everyTestThatThePageNamesIsThere() throws IOException {
        List<MatchResult> named =
                TEST_CLASS.matcher(Files.readString(PAGE)).results().toList();

        assertThat(named).hasSizeGreaterThan(20);
        for (MatchResult one : named) {
            List<Path> sources = sources(one.group(1));
            assertThat(sources).as(one.group()).hasSize(1);
            if (one.group(2) != null) {
                assertThat(sources.get(0)).as(one.group()).content().contains("void " + one.group(2) + "(");
            }
        }
    }

    @Test
    void everyRowOfTheTableNamesATest() throws IOException {
        List<String> rows = Files.readAllLines(PAGE).stream()
                .filter(line -> line.startsWith("| "))
                .skip(1)
                .toList();

        assertThat(rows)
                .hasSizeGreaterThan(15)
                .allMatch(row -> TEST_CLASS.matcher(row).find());
    }

    private static List<Path> sources(String testClass) {
        return Modules.sources("src/test/java").stream()
                .filter(file -> file.endsWith(testClass + ".java"))
                .toList();
    }
}
