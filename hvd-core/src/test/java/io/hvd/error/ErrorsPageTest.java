package io.hvd.error;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The number of every message stands in docs/reference/errors.md. */
class ErrorsPageTest {
    private static final Path PAGE = Path.of("..", "docs", "reference", "errors.md");

    @Test
    void thePageHasEveryErrorOnceAndInOrder() throws Exception {
        List<String> rows = Pattern.compile("(?m)^\\| (HVD-\\d+) \\| (\\w+) \\|")
                .matcher(Files.readString(PAGE))
                .results()
                .map(ErrorsPageTest::row)
                .toList();

        assertThat(rows)
                .isEqualTo(Arrays.stream(ErrorId.values())
                        .map(id -> id.code() + " " + id)
                        .toList());
    }

    private static String row(MatchResult found) {
        return found.group(1) + " " + found.group(2);
    }
}
