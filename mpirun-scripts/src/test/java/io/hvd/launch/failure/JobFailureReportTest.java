package io.hvd.launch.failure;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.error.FailureRecord;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class JobFailureReportTest {

    private static final Instant NOON = Instant.parse("2026-01-02T12:00:00Z");
    private static final ObservedFailure KILLED =
            new ObservedFailure(2, "c", 137, "rank 2 on c, pid 4242, was ended by signal 9");

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
                false,
                1);
        var other = new FailureRecord(
                NOON.plusMillis(1250), 0, "nodeA", 12, "engine", "rank 2 left\nsee there", "stack of 0", true, -1);

        String text = report(1, cause, other).text();

        assertThat(text)
                .contains("first failure: rank 2 on nodeB, pid 4711, thread main, at 2026-01-02T12:00:00Z")
                .containsSubsequence("the loss is NaN", "java.lang.IllegalStateException: NaN", "at A.b")
                .contains("  in consequence: rank 0 on nodeA, +1.25 s: rank 2 left\n")
                .doesNotContain("stack of 0", "see there")
                .endsWith("horovodrun: exit code 1\n");
    }

    @Test
    void aSecondCauseIsNotCalledAConsequence() {
        assertThat(report(1, cause(0, 0, 1), cause(1, 10, 1)).text())
                .contains("also failed: rank 1 on b, +0.01 s: bad");
    }

    @Test
    void whatASurvivorNoticedIsNotCalledTheCause() {
        assertThat(report(137, consequence(1, 0)).text())
                .contains(
                        "first failure: what failed left no record of its own; noticed first by rank 1 on b",
                        "somebody is gone");
    }

    @Test
    void aKilledProcessThatMpirunNamesIsTheFirstFailureAndTheRecordsFollow() {
        var report = new JobFailureReport(List.of(consequence(0, 40), consequence(1, 90)), Optional.of(KILLED), 137);

        assertThat(report.text())
                .contains("horovodrun: first failure: rank 2 on c, pid 4242, was ended by signal 9"
                        + " (first noticed at 2026-01-02T12:00:00.040Z)\n")
                .contains("in consequence: rank 0 on b, +0.00 s", "in consequence: rank 1 on b, +0.05 s")
                .endsWith("by the kernel for want of memory)\n");
        assertThat(report.rank()).isEqualTo(2);
        assertThat(report.host()).isEqualTo("c");
    }

    @Test
    void aKillThatOthersNoticedBeforeComesBeforeAnException() {
        var killedFirst = new JobFailureReport(List.of(cause(0, 50, 1), consequence(1, 10)), Optional.of(KILLED), 1);
        var killedLater = new JobFailureReport(List.of(cause(0, 50, 1), consequence(1, 60)), Optional.of(KILLED), 137);

        assertThat(killedFirst.rank()).isEqualTo(2);
        assertThat(killedFirst.exitCode()).isEqualTo(137);
        assertThat(killedFirst.text()).contains("also failed: rank 0 on b");
        assertThat(killedLater.rank()).isZero();
        assertThat(killedLater.exitCode()).isEqualTo(1);
    }

    @Test
    void theExitCodeIsThatOfTheFirstFailureWhicheverMpirunReports() {
        var exitedWithSeven = new ObservedFailure(0, "", 7, "rank 0 ended with exit code 7");
        var exitedWithThree = new ObservedFailure(1, "", 3, "rank 1 ended with exit code 3");
        var systemExit = cause(1, 0, FailureRecord.UNKNOWN);

        assertThat(new JobFailureReport(List.of(cause(1, 0, 1)), Optional.of(exitedWithSeven), 7).exitCode())
                .isEqualTo(1);
        assertThat(new JobFailureReport(List.of(systemExit), Optional.of(exitedWithThree), 9).exitCode())
                .isEqualTo(3);
        assertThat(report(3, systemExit).exitCode()).isEqualTo(3);
        assertThat(report(137, consequence(0, 0)).exitCode()).isEqualTo(137);
    }

    @Test
    void whatMpirunSawOfARankThatLeftARecordIsNoSecondFailure() {
        var ended = new ObservedFailure(0, "", 1, "rank 0 ended the job with exit code 1");

        assertThat(new JobFailureReport(List.of(cause(1, 0, 1), consequence(0, 5)), Optional.of(ended), 1).text())
                .contains("first failure: rank 1 on b")
                .doesNotContain("ended the job with");
    }

    @Test
    void aLostHostIsTheFirstFailureAndItsRanksStandInWhatTheOthersNoticed() {
        var lost = new ObservedFailure(
                ObservedFailure.NO_RANK, "c", ObservedFailure.NO_CODE, "mpirun has lost the connection to host c");

        assertThat(new JobFailureReport(List.of(consequence(0, 0)), Optional.of(lost), 205).text())
                .contains(
                        "first failure: mpirun has lost the connection to host c (first noticed at ",
                        "in consequence: rank 0 on b")
                .endsWith("exit code 205\n");
    }

    @Test
    void oneScreenIsEnoughForAThousandRanksAndADeepStack() {
        String stack = IntStream.range(0, 500).mapToObj(i -> "\tat A.m" + i).collect(Collectors.joining("\n"));
        var cause = new FailureRecord(NOON, 0, "b", 1, "main", "bad", stack, false, 1);
        FailureRecord[] records = IntStream.range(0, 1000)
                .mapToObj(rank -> rank == 0 ? cause : consequence(rank, rank))
                .toArray(FailureRecord[]::new);

        assertThat(report(1, records).text().lines())
                .hasSizeLessThan(45)
                .contains("  and 987 more ranks in consequence")
                .contains("    ... and 475 more lines, printed by the rank itself");
    }

    @Test
    void withoutRecordsTheExitCodeIsExplained() {
        assertThat(report(137).text()).contains("exit code 137", "signal 9", "no rank left a record");
        assertThat(report(139).text()).contains("exit code 139", "signal 11");
        assertThat(report(3).text()).contains("exit code 3;").doesNotContain("signal");
    }

    @Test
    void aRankThatFailedBeforeItHadANumberIsNotCalledMinusOne() {
        var unnumbered = new FailureRecord(NOON, -1, "a", 1, "main", "no mpi.jar", "", false, -1);

        assertThat(report(1, unnumbered).text())
                .contains("a rank not yet numbered on a")
                .doesNotContain("-1");
    }

    private static JobFailureReport report(int mpirunCode, FailureRecord... records) {
        return new JobFailureReport(List.of(records), Optional.empty(), mpirunCode);
    }

    private static FailureRecord cause(int rank, int millis, int exitCode) {
        return new FailureRecord(NOON.plusMillis(millis), rank, "b", 1, "main", "bad", "", false, exitCode);
    }

    private static FailureRecord consequence(int rank, int millis) {
        return new FailureRecord(NOON.plusMillis(millis), rank, "b", 1, "main", "somebody is gone", "", true, -1);
    }
}
