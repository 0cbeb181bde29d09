package io.hvd.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The table of docs/reference/settings.md is made here; if it differs, the failure shows the text to paste. */
class SettingsTableTest {
    private static final Path PAGE = Path.of("..", "docs", "reference", "settings.md");

    @Test
    void thePageHasEverySettingWithItsDefaultAndMeaning() throws Exception {
        String table = table();

        assertThat(Files.readString(PAGE).contains("\n" + table))
                .as("docs/reference/settings.md has this table between its two comments on settings:\n\n%s\n", table)
                .isTrue();
    }

    private static String table() {
        return "| variable | default | ranks | meaning |\n|---|---|---|---|\n"
                + Arrays.stream(Setting.values()).map(SettingsTableTest::row).collect(Collectors.joining());
    }

    private static String row(Setting setting) {
        String otherwise = setting.defaultValue().isEmpty() ? "not set" : "`" + setting.defaultValue() + "`";
        String ranks = setting.scope() == Setting.Scope.JOB ? "same" : "own";
        return "| `" + setting.variable() + "` | " + otherwise + " | " + ranks + " | "
                + setting.meaning().replace("|", "\\|") + " |\n";
    }
}
