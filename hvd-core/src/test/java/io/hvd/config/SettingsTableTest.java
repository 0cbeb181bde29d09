package io.hvd.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The README's table of settings is made here; if it differs, the failure shows the text to paste. */
class SettingsTableTest {
    private static final Path README = Path.of("..", "README.md");

    @Test
    void theReadmeHasEverySettingWithItsDefaultAndMeaning() throws Exception {
        String table = table();

        assertThat(Files.readString(README).contains("\n" + table))
                .as("README.md has this table between its two comments on settings:\n\n%s\n", table)
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
