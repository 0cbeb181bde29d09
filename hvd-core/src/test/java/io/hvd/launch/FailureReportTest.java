package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.error.FailureRecord;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

final class FailureReportTest {

    private static final Instant NOON = Instant.parse("2026-01-02T12:00:00Z");

    @Test
    void theFirstCauseIsShownInFullAndTheOthersInOneLineEach() {
        var cause = new FailureRecord(
                NOON,
                2,
                "nodeB",
                4711,
                "main",
                "the loss is NaN",
                "java.lang.IllegalStateException: NaN\n\tat A.b",
                false);
        var other = new FailureRecord(
                NOON.plusMillis(1250), 0, "nodeA", 12, "hvd-engine-0", "rank 2 left", "stack of rank 0", true);

        String report = FailureReport.of(List.of(cause, other), 1);

        assertThat(report)
                .contains("first failure: rank 2 on nodeB, pid 4711, thread main, at 2026-01-02T12:00:00Z")
                .containsSubsequence("the loss is NaN", "java.lang.IllegalStateException: NaN", "at A.b")
                .contains("  consequence: rank 0 on nodeA, +1.25 s: rank 2 left\n")
                .doesNotContain("stack of rank 0")
                .endsWith("horovodrun: exit code 1\n");
    }

    @Test
    void aSecondCauseIsNotCalledAConsequence() {
        var first = new FailureRecord(NOON, 0, "a", 1, "main", "one", "", false);
        var second = new FailureRecord(NOON.plusMillis(10), 1, "a", 2, "main", "two", "", false);

        assertThat(FailureReport.of(List.of(first, second), 1)).contains("also failed: rank 1 on a, +0.01 s: two");
    }

    @Test
    void whatASurvivorNoticedIsNotCalledTheCause() {
        var survivor = new FailureRecord(NOON, 1, "a", 1, "main", "rank 0 is gone", "", true);

        assertThat(FailureReport.of(List.of(survivor), 137))
                .contains("no rank left the cause itself; noticed first by rank 1 on a", "rank 0 is gone")
                .doesNotContain("first failure");
    }

    @Test
    void withoutRecordsTheExitCodeIsExplained() {
        assertThat(FailureReport.of(List.of(), 137)).contains("exit code 137", "signal 9", "no rank left a record");
        assertThat(FailureReport.of(List.of(), 139)).contains("exit code 139", "signal 11");
        assertThat(FailureReport.of(List.of(), 3)).contains("exit code 3;").doesNotContain("signal");
    }

    @Test
    void aRankThatFailedBeforeItHadANumberIsNotCalledMinusOne() {
        var unnumbered = new FailureRecord(NOON, -1, "a", 1, "main", "no mpi.jar", "", false);

        assertThat(FailureReport.of(List.of(unnumbered), 1))
                .contains("a rank not yet numbered on a")
                .doesNotContain("-1");
    }
}
