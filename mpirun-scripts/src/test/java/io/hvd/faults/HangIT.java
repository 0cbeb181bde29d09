package io.hvd.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.contract.CallsBesideAnEnd;
import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * A job that hangs ends non-zero, and says in one sentence which rank has not made which call and where it is instead.
 * The jobs wait for limits to pass, so two run at once; on the methods, for other classes are not to run beside them.
 */
@Tag("timing")
class HangIT {
    private static final int RANKS = 3;
    private static final Map<String, String> LIMIT = Map.of("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "3");

    @TempDir
    Path folder;

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aStoppedRankIsNamedWithItsStateAndItsLastCall() throws IOException {
        Job job = hang("stop", 1);

        assertThat(summary(job).get(0))
                .startsWith("hvd: HANG: rank 1 is stopped (process state T), process ")
                .containsPattern("allreduce \"gradient\", was made at HangProgram.average\\(HangProgram.java:\\d+\\)")
                .contains("ranks {0, 2} have waited in allreduce \"a\"");
        assertThat(report()).contains("Last calls as last published");
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aRankInADifferentBranchIsNamedWithBothCalls() throws IOException {
        Job job = hang("branch", 2);

        assertThat(summary(job).get(0))
                .startsWith("hvd: HANG: the ranks made the same calls up to call 3 of rank 0; then rank 2 called"
                        + " broadcast \"weights\" at HangProgram.misbehave(HangProgram.java:")
                .contains(", where ranks {0, 1} called allreduce \"a\" at HangProgram.average(HangProgram.java:");
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aCallThatOneRankHasLeftOutIsNamedWithItsLine() throws IOException {
        Job job = hang("omit", 1);

        assertThat(summary(job).get(0))
                .startsWith("hvd: HANG: the ranks made the same calls up to call 7 of rank 0; then rank 1 left out"
                        + " allreduce \"weights\", which ranks {0, 2} called at HangProgram.leaveOneOut(")
                .contains(", and went on to allreduce \"bias\" at HangProgram.leaveOneOut(")
                .contains("; ranks {0, 2} have waited in allreduce \"weights\" for ");
    }

    /** The ranks wait four calls later, under a name that says nothing. */
    @Test
    @Tag("long")
    @Execution(ExecutionMode.CONCURRENT)
    void anUnnamedCallThatOneRankHasLeftOutIsNamedWithItsLineAndNotWithTheNameThatIsMissing() throws IOException {
        Job job = hang("unnamed", 1);

        assertThat(summary(job).get(0))
                .startsWith("hvd: HANG: the ranks made the same calls up to call 4 of rank 0; then rank 1 left out the"
                        + " unnamed allreduce of float32")
                .containsPattern(
                        "which ranks \\{0, 2\\} called at HangProgram.leaveAnUnnamedOneOut\\(HangProgram.java:\\d+\\)")
                .contains("rank 1 has not called allreduce \"allreduce.noname.8\"");
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void rankZeroStuckInTheUsersCodeIsNamedWithItsLine() throws IOException {
        Job job = hang("stuck", 0);

        assertThat(summary(job).get(0))
                .startsWith("hvd: HANG: rank 0 has not called allreduce \"a\": it is at ")
                .containsPattern("HangProgram.waitForALockThatNobodyGives\\(HangProgram.java:\\d+\\)")
                .containsPattern("its last collective, allreduce \"gradient\", ended \\d+\\.\\d s ago");
        assertThat(report()).contains("HangProgram.main(HangProgram.java:", "\"hvd-engine-mpi\"", "heap");
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aRankThatSkipsATensorIsInTheWarningAndAfterTheLimitTheJobEnds() throws IOException {
        // The warning comes after 2 s; on a busy machine one second more is no time for it.
        Job job = hang("skip", 1, Map.of("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "6"));

        assertThat(job.lines("collectives have waited for"))
                .isNotEmpty()
                .allMatch(line -> line.contains("rank 1 [b]") && line.contains("Likely causes"));
        assertThat(summary(job).get(0))
                .startsWith("hvd: HANG: the ranks made the same calls up to call 4 of rank 0; then rank 1 called"
                        + " allreduce \"c\" at HangProgram.average(")
                .contains(", where ranks {0, 2} called allreduce \"b\" at HangProgram.average(");
    }

    /** Once the steps have settled, the others wait for it inside MPI. */
    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aStuckRankIsNamedWhenNobodyNegotiatesAnyMore() throws IOException {
        requireStuckRankIsNamedWhenSettled(2);
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    @Tag("long")
    void rankZeroStuckIsNamedWhenNobodyNegotiatesAnyMore() throws IOException {
        requireStuckRankIsNamedWhenSettled(0);
    }

    private void requireStuckRankIsNamedWhenSettled(int culprit) throws IOException {
        Job job = hang("stuck", culprit, LIMIT, "settled");

        assertThat(summary(job).get(0))
                .startsWith("hvd: HANG: rank " + culprit + " has not called allreduce \"gradient\": it is at ")
                .containsPattern("HangProgram.waitForALockThatNobodyGives\\(HangProgram.java:\\d+\\)");
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    @Tag("long")
    void rankZeroStoppedIsNamedWhenNobodyNegotiatesAnyMore() throws IOException {
        requireStoppedRankIsNamedWhenSettled(0);
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    @Tag("long")
    void aStoppedRankIsNamedWhenNobodyNegotiatesAnyMore() throws IOException {
        requireStoppedRankIsNamedWhenSettled(1);
    }

    private void requireStoppedRankIsNamedWhenSettled(int culprit) throws IOException {
        Job job = hang("stop", culprit, LIMIT, "settled");

        assertThat(summary(job).get(0))
                .startsWith("hvd: HANG: rank " + culprit + " is stopped (process state T), process ");
    }

    /** It vetoes the next step, inside MPI, and nobody else comes there. */
    @Test
    @Tag("long")
    @Execution(ExecutionMode.CONCURRENT)
    void aRankInADifferentBranchIsNamedWhenNobodyNegotiatesAnyMore() throws IOException {
        Job job = hang("branch", 2, LIMIT, "settled");

        assertThat(summary(job).get(0))
                .startsWith("hvd: HANG: the ranks made the same calls up to call 15 of rank 0; then rank 2 called"
                        + " broadcast \"weights\" at HangProgram.misbehave(")
                .contains(", where ranks {0, 1} called allreduce \"gradient\" at HangProgram.average(");
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aRankThatThrowsAndWaitsInCloseSaysSoAndIsNamed() throws IOException {
        Job job = hang("throw", 1, Map.of("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "8"));

        assertThat(job.lines("hvd: rank 1 on ")).singleElement().asString().contains("because of an exception");
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aReceiveWithoutASendNamesTheSenderAlone() throws IOException {
        Job job = hang("receive", 1);

        assertThat(job.output())
                .containsPattern("Missing: rank 1 \\[a\\] .*, rank 2 \\[rank 2 to rank 1, tag 7\\] ")
                .doesNotContain("rank 0 [");
    }

    /** The limit for waits is ten minutes. */
    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aDeadlockOfProcessesEndsAtTheLimitForStandstills() throws IOException {
        Map<String, String> settings = Map.of("HVD_STANDSTILL_SECONDS", "2", "HVD_REPORT_DIR", folder.toString());

        Job job = Job.horovodrun(RANKS, settings, StandstillProgram.class, "processes", "settled");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(summary(job).get(0))
                .startsWith("hvd: HANG: ")
                .contains("then rank 1 called allreduce \"evaluation\" at StandstillProgram.sum(")
                .endsWith("; this is a deadlock, in which no thread of any rank can make the missing calls");
        assertThat(summary(job)).anyMatch(line -> line.contains("rank 1 here | ranks {0, 2} not here"));
        assertThat(job.lines("The job ends after 2.0 s of this")).hasSize(1);
        assertThat(report()).contains("The ranks' threads as one tree");
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aJobInWhichAThreadWillComeIsNotADeadlock() {
        Map<String, String> settings = Map.of("HVD_STANDSTILL_SECONDS", "1", "HVD_REPORT_DIR", folder.toString());

        Job job = Job.horovodrun(RANKS, settings, StandstillProgram.class, "processes", "process");

        assertThat(job.exitCode()).as(job.output()).isZero();
    }

    /** As after a body that throws, no process waits for another. */
    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void anInterruptOfTheCallerOfSpawnEndsAllProcessesOfTheJob() {
        Job job = Job.horovodrun(2, Map.of(), StandstillProgram.class, "cancelled");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.output())
                .contains(
                        "first failure: rank 0 on ", "the job was cancelled: thread main, which had called Hvd.spawn");
    }

    /** Whether rank 2 closes before its steps have settled or after, the others get an error from each call. */
    @Test
    @Tag("long")
    @Execution(ExecutionMode.CONCURRENT)
    void everyCallBesideARankThatHasClosedNamesIt() {
        for (String steps : List.of("1", "20")) {
            Job job = Job.horovodrun(RANKS, Map.of(), CallsBesideAnEnd.class, steps);

            assertThat(job.exitCode()).as(job.output()).isZero();
            assertThat(job.lines("WRONG []")).as(job.output()).hasSize(RANKS);
        }
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void ranksThatAreThreadsGetTheSameExplanationAndSpawnThrowsIt() throws IOException {
        Map<String, String> settings = Map.of(
                "HOROVOD_STALL_CHECK_TIME_SECONDS", "1",
                "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "2",
                "HVD_FLIGHT_RECORDER", "0",
                "HVD_REPORT_DIR", folder.toString());

        Job job = Job.run(Job.program(HangProgram.class, "threads", "1"), settings);

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(summary(job).get(0))
                .startsWith("hvd: HANG: rank 1 has not called allreduce \"a\"")
                .contains("HangProgram.waitForALockThatNobodyGives(HangProgram.java:")
                .contains("its last collective, allreduce \"gradient\", ended ");
        assertThat(job.output()).contains("Exception in thread \"main\"", "HvdException");
        String report = report();
        assertThat(report).contains("hvd-rank-1");
        assertThat(report.lines().filter(line -> line.matches("  \\d+\\. allreduce .*")))
                .as("each rank's last call, and none before it")
                .hasSize(3);
    }

    private Job hang(String fault, int culprit) throws IOException {
        return hang(fault, culprit, LIMIT);
    }

    private Job hang(String fault, int culprit, Map<String, String> settings) throws IOException {
        return hang(fault, culprit, settings, "negotiating");
    }

    private Job hang(String fault, int culprit, Map<String, String> settings, String steps) throws IOException {
        Map<String, String> environment = new java.util.HashMap<>(settings);
        environment.put("HOROVOD_STALL_CHECK_TIME_SECONDS", "2");
        environment.put("HVD_REPORT_DIR", folder.toString());
        Job job = Job.horovodrun(RANKS, environment, HangProgram.class, fault, String.valueOf(culprit), steps);

        assertThat(job.exitCode()).as(job.output()).isNotZero();
        assertThat(job.lines("hvd: HANG: ")).as(job.output()).hasSize(1);
        assertThat(summary(job)).hasSizeLessThanOrEqualTo(30);
        assertThat(job.output()).contains("first failure: rank ", "the job hangs: ");
        return job;
    }

    private static List<String> summary(Job job) {
        return job.output()
                .lines()
                .dropWhile(line -> !line.startsWith("hvd: HANG: "))
                .takeWhile(line -> line.startsWith("hvd: "))
                .toList();
    }

    /** The one file that was written. */
    private String report() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            List<Path> all = files.toList();
            assertThat(all).hasSize(1);
            assertThat(all.get(0).getFileName().toString()).matches("hvd-hang-\\d{8}-\\d{6}-\\d+\\.txt");
            return Files.readString(all.get(0));
        }
    }
}
