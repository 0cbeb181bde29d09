package io.hvd.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.doctor.checks.Diagnosis;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The number of every finding stands in docs/reference/doctor.md, with its cause. */
final class DoctorPageTest {

    private static final Pattern ROW = Pattern.compile("(?m)^\\| (HVD-D\\d+) \\| (\\S+), (\\w+) \\| (.+) \\|$");

    @Test
    void thePageHasEveryFindingInOrderWithAreaSeverityAndCause() throws IOException {
        assertThat(rows().stream().map(row -> List.of(row.group(1), row.group(2), row.group(3), row.group(4))))
                .containsExactlyElementsOf(Arrays.stream(Diagnosis.values())
                        .map(one -> List.of(
                                one.id(), one.area().word(), one.severity().word(), one.cause()))
                        .toList());
    }

    @Test
    void numbersAreNotGivenTwice() {
        assertThat(Arrays.stream(Diagnosis.values()).map(Diagnosis::id)).doesNotHaveDuplicates();
    }

    private static List<MatchResult> rows() throws IOException {
        return ROW.matcher(Files.readString(Path.of("..", "docs", "reference", "doctor.md")))
                .results()
                .toList();
    }
}
