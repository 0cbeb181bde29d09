package io.hvd.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.error.FailureRecord;
import io.hvd.testing.Job;
import io.hvd.testing.Mpirun;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * One bad rank ends the job soon, non-zero, with its cause as the last thing said, and nothing is left behind. Half of
 * their time the jobs wait for each other's ends, so two run at once.
 */
@Execution(ExecutionMode.CONCURRENT)
class FaultsIT {
    private static final int RANKS = 3;

    /** Its session folder, which mpirun does not always clear away when a rank has been killed. */
    private static final Pattern OF_OPEN_MPI = Pattern.compile("(ompi|prte|pmix|openmpi-sessions)[.-].*");

    private static final Duration LEAVE = Duration.ofMinutes(1);

    @TempDir
    private Path temporary;

    @TempDir
    private Path records;

    private Set<String> thereBefore;

    @BeforeEach
    void look() throws IOException {
        thereBefore = Segments.now();
    }

    @Test
    void aRankThatThrowsEndsTheJobWithItsException() {
        requireItsException(RANKS, 0);
    }

    @ParameterizedTest
    @CsvSource({"2, 1", "4, 2"})
    @Tag("long")
    void anyRankThatThrowsEndsTheJobWithItsException(int ranks, int culprit) {
        requireItsException(ranks, culprit);
    }

    private static void requireItsException(int ranks, int culprit) {
        Job job = fail(ranks, "throw", culprit);

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(lastWords(job))
                .contains("first failure: rank " + culprit)
                .contains("IllegalStateException: the disk is full")
                .contains("FaultyProgram.misbehave");
    }

    @Test
    void anExceptionInABackgroundThreadEndsTheJob() {
        Job job = fail("thread", 1);

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(lastWords(job)).contains("first failure: rank 1", "thread reader", "the reader has lost its file");
    }

    @Test
    void aThreadThatLivesOnDoesNotKeepADeadMainFromEndingTheJob() {
        Job job = fail("main-with-thread-left", 2);

        assertThat(job.exitCode()).isNotZero();
        assertThat(lastWords(job)).contains("first failure: rank 2", "main is gone, a thread is not");
    }

    /** With a heap that stays full nothing can be said or written any more that takes memory. */
    @Test
    void aFullHeapOfOneRankEndsTheJobAndIsTheFirstFailure() {
        requireFullHeapToBeFirst("oom-thread", "hoarder");
    }

    @Test
    @Tag("long")
    void aFullHeapInMainEndsTheJobAndIsTheFirstFailure() {
        requireFullHeapToBeFirst("oom", "main");
    }

    private void requireFullHeapToBeFirst(String fault, String thread) {
        Map<String, String> environment = new HashMap<>(NoLimits.SETTINGS);
        environment.put("JDK_JAVA_OPTIONS", "-Xmx64m");
        Job job = Job.horovodrun(2, environment, FaultyProgram.class, fault, "1");

        assertNothingIsLeft(job);
        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(lastWords(job))
                .contains(
                        "first failure: rank 1 on ",
                        "thread " + thread,
                        "java.lang.OutOfMemoryError",
                        "FaultyProgram.hoard")
                .endsWith("horovodrun: exit code 1\n");
    }

    @Test
    void exitBeforeCloseEndsTheJobAndNamesTheLine() {
        requireLineOfExit("exit0", 1);
    }

    @Test
    @Tag("long")
    void exitWithAnotherCodeEndsTheJobWithIt() {
        requireLineOfExit("exit3", 3);
    }

    private void requireLineOfExit(String fault, int code) {
        Job job = fail(fault, 1);

        assertThat(job.exitCode()).isEqualTo(code);
        assertThat(lastWords(job))
                .contains("first failure: rank 1", "System.exit", "FaultyProgram.misbehave(FaultyProgram.java:");
    }

    /** With the steps settled the others wait in shared memory; or inside MPI, which does not hear of a rank's death. */
    @ParameterizedTest
    @CsvSource({"3, 0, settled", "4, 0, inside-mpi"})
    void aKilledRankEndsTheJobSoonAndEverySurvivorLeavesItsRecord(int ranks, int culprit, String steps)
            throws IOException {
        requireRecordsAfterKill(ranks, culprit, steps);
    }

    @ParameterizedTest
    @CsvSource({"2, 0, negotiating", "2, 1, negotiating", "4, 0, negotiating", "4, 3, negotiating", "4, 2, settled"})
    @Tag("long")
    void anyRankThatIsKilledEndsTheJobSoonAndEverySurvivorLeavesItsRecord(int ranks, int culprit, String steps)
            throws IOException {
        requireRecordsAfterKill(ranks, culprit, steps);
    }

    private void requireRecordsAfterKill(int ranks, int culprit, String steps) throws IOException {
        Job job = kill(Job.horovodrun(
                ranks, surroundings(steps), FaultyProgram.class, "kill", String.valueOf(culprit), steps));

        String words = lastWords(job);
        for (int rank = 0; rank < ranks; rank++) {
            assertThat(words.contains("in consequence: rank " + rank + " on ")
                            || words.contains("noticed first by rank " + rank + " on "))
                    .as("record of rank " + rank + " in " + words)
                    .isEqualTo(rank != culprit);
        }
        assertThat(words).containsPattern(goneAs(culprit, steps));
        if (job.output().contains("noticed that process rank")) { // mpirun itself may lose its last words
            assertThat(words)
                    .containsPattern("^first failure: rank " + culprit
                            + " on \\S+(, pid [1-9]\\d*)?, was ended by signal 9 \\(first noticed at ");
        }
    }

    @Test
    @Tag("long")
    void underPlainMpirunTooAKilledRankEndsTheJobSoonAndEverySurvivorLeavesItsRecord() throws IOException {
        requireRecordsAfterKillUnderPlainMpirun(RANKS, 1, "negotiating");
    }

    @ParameterizedTest
    @CsvSource({"2, 0, negotiating", "2, 1, settled", "4, 0, settled", "4, 2, inside-mpi"})
    @Tag("long")
    void underPlainMpirunTooAnyRankThatIsKilledEndsTheJobSoonAndEverySurvivorLeavesItsRecord(
            int ranks, int culprit, String steps) throws IOException {
        requireRecordsAfterKillUnderPlainMpirun(ranks, culprit, steps);
    }

    private void requireRecordsAfterKillUnderPlainMpirun(int ranks, int culprit, String steps) throws IOException {
        Map<String, String> environment = surroundings(steps);
        environment.put(FailureRecord.DIRECTORY_VARIABLE, records.toString());
        kill(Job.run(Mpirun.command(ranks, FaultyProgram.class, "kill", String.valueOf(culprit), steps), environment));

        List<FailureRecord> left = FailureRecord.readAll(records);
        assertThat(left)
                .extracting(FailureRecord::rank)
                .containsExactlyInAnyOrderElementsOf(IntStream.range(0, ranks)
                        .filter(rank -> rank != culprit)
                        .boxed()
                        .toList());
        assertThat(left)
                .allSatisfy(record -> assertThat(record.consequence()).isTrue())
                .anySatisfy(record -> assertThat(record.reason()).containsPattern(goneAs(culprit, steps)));
    }

    /** Their programs end by themselves then: they return from close(), or catch what they are told and exit. */
    @ParameterizedTest
    @CsvSource("kill-others-close, 0")
    void survivorsWhoseProgramsEndLeaveTheirRecordsFirst(String fault, int culprit) throws IOException {
        requireRecordsOfProgramsThatEnd(fault, culprit);
    }

    @ParameterizedTest
    @CsvSource({"kill-others-close, 2", "kill-others-exit, 0", "kill-others-exit, 2"})
    @Tag("long")
    void survivorsOfAnyRankWhoseProgramsEndLeaveTheirRecordsFirst(String fault, int culprit) throws IOException {
        requireRecordsOfProgramsThatEnd(fault, culprit);
    }

    private void requireRecordsOfProgramsThatEnd(String fault, int culprit) throws IOException {
        Map<String, String> environment = surroundings("settled");
        environment.put(FailureRecord.DIRECTORY_VARIABLE, records.toString());
        kill(Job.run(
                Mpirun.command(RANKS, FaultyProgram.class, fault, String.valueOf(culprit), "settled"), environment));

        assertThat(FailureRecord.readAll(records))
                .allMatch(FailureRecord::consequence)
                .extracting(FailureRecord::rank)
                .containsExactlyInAnyOrderElementsOf(IntStream.range(0, RANKS)
                        .filter(rank -> rank != culprit)
                        .boxed()
                        .toList());
    }

    @Test
    void aHealthyProgramEndsWithZero() {
        Job job = Job.horovodrun(2, FaultyProgram.class, "none", "-1");

        assertThat(job.exitCode()).as(job.output()).isZero();
    }

    /** Without it the screen would begin with whichever rank mpirun saw ending, and its exit code. */
    @Test
    void aProgramThatEndsItselfAndSaysWhyIsTheFirstFailureByItsReason() {
        Job job = Job.horovodrun(2, FaultyProgram.class, "refuse", "1");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(4);
        List<String> lines = job.output().lines().toList();
        int first =
                lines.indexOf(job.lines("horovodrun: first failure: rank 1 on ").get(0));
        assertThat(lines.get(first + 1)).isEqualTo("  the data has no rows");
        assertThat(lines.get(first + 2)).isEqualTo("horovodrun: exit code 4");
    }

    @Test
    void mainThatEndsWithoutCloseEndsTheJob() {
        Job job = Job.horovodrun(2, FaultyProgram.class, "unclosed", "-1");

        assertThat(job.exitCode()).isNotZero();
        assertThat(job.output()).contains("the program ended before HvdContext.close()");
    }

    @Test
    void aDifferentShapeOnOneRankIsNamedOnEveryRankAndEndsTheJobIfNobodyCatchesIt() {
        Job job = fail("shape", 2);

        assertThat(job.exitCode()).isNotZero();
        assertThat(job.lines("\"gradient\"").stream()
                        .filter(line ->
                                line.startsWith("hvd: ") && line.contains("[4] on ranks {0, 1}; [5] on ranks {2}")))
                .hasSize(RANKS);
    }

    @Test
    void aMismatchThatIsCaughtLeavesTheContextUsable() {
        Job job = Job.horovodrun(RANKS, FaultyProgram.class, "two-shapes", "1");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("CAUGHT ")).hasSize(RANKS).allMatch(line -> line.contains("\"fc1.weight\""));
        assertThat(job.lines("WENT ON")).hasSize(RANKS);
    }

    @Test
    void inStrictModeEveryRankHearsOfTheFirstCallThatDiffersWithBothLines() {
        requireBothLinesInStrictMode(RANKS);
    }

    @Test
    @Tag("long")
    void inStrictModeBothOfTwoRanksHearOfTheFirstCallThatDiffersWithBothLines() {
        requireBothLinesInStrictMode(2);
    }

    private static void requireBothLinesInStrictMode(int ranks) {
        Job job = Job.horovodrun(ranks, Map.of("HVD_STRICT", "1"), FaultyProgram.class, "other-order", "1");

        assertThat(job.exitCode()).as(job.output()).isZero();
        String line = " at FaultyProgram\\.callInOwnOrder\\(FaultyProgram\\.java:(\\d+)\\) on ranks \\{";
        Pattern both = Pattern.compile("CAUGHT \\[HVD-301] .*strict mode: .* first differ at call 4: "
                + "broadcast of \"weight\"" + line + (ranks == 2 ? "0" : "0, 2") + "}; "
                + "allreduce of \"bias\"" + line + "1}.*");
        assertThat(job.lines("CAUGHT ")).hasSize(ranks).allSatisfy(caught -> {
            Matcher matcher = both.matcher(caught);
            assertThat(matcher.matches()).as(caught).isTrue();
            assertThat(matcher.group(1)).isNotEqualTo(matcher.group(2));
        });
        assertThat(job.lines("WENT ON")).hasSize(ranks);
    }

    @ParameterizedTest
    @CsvSource({
        "before-init, NotInitialisedException: [HVD-101] Hvd.rank() was called",
        "duplicate-name, DuplicateNameException: [HVD-302] tensor \"twice\": allreduce was submitted while"
    })
    void aWrongCallThatNobodyCatchesEndsTheJobWithItsException(String mistake, String words) {
        requireExceptionOfMistake(mistake, words);
    }

    @ParameterizedTest
    @CsvSource({
        "after-shutdown, NotInitialisedException: [HVD-101] allreduce",
        "unknown-set, HvdException: [HVD-307] process set 7 is not registered"
    })
    @Tag("long")
    void furtherWrongCallsThatNobodyCatchesEndTheJobWithTheirException(String mistake, String words) {
        requireExceptionOfMistake(mistake, words);
    }

    private static void requireExceptionOfMistake(String mistake, String words) {
        Job job = Job.horovodrun(2, NoLimits.SETTINGS, MisuseProgram.class, mistake);

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.output()).contains("io.hvd.error." + words);
    }

    @Test
    void wrongCallsThatAreCaughtLeaveTheContextUsable() {
        Job job = Job.run(Mpirun.command(2, MisuseProgram.class, "all"), Map.of());

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("WENT ON")).hasSize(6);
        assertThat(job.lines("CAUGHT io.hvd.error.DuplicateNameException: [HVD-302] tensor \"twice\": allreduce"))
                .hasSize(1);
        assertThat(job.lines("CAUGHT io.hvd.error.HvdException: [HVD-307] process set 7 is not registered on rank"))
                .hasSize(2);
        assertThat(job.lines("CAUGHT io.hvd.error.HvdException: [HVD-307] allreduce").stream()
                        .filter(line -> line.contains("of ranks [1] is not registered; it has been removed")))
                .hasSize(2);
    }

    @Test
    void aRankThatClosesEarlyIsNamedToThoseThatWaitForIt() {
        Job job = fail("early-close", 1);

        assertThat(job.exitCode()).isNotZero();
        assertThat(job.output()).contains("ranks {1} have closed their context");
    }

    @Test
    void underPlainMpirunTheCauseIsReadableToo() {
        Job job = Job.run(Mpirun.command(RANKS, FaultyProgram.class, "thread", "1"), Map.of());

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output()).contains("FAILED: rank 1 of 3", "the reader has lost its file");
        assertNothingIsLeft(job);
    }

    /**
     * None of hvd's files may stay: it makes {@code hvd-failures-*} in the temporary folder and nothing in shared
     * memory, where Open MPI leaves its {@code vader_segment.*} (5.0: {@code sm_segment.*}) after kill -9.
     */
    private Job kill(Job job) throws IOException {
        assertThat(job.exitCode()).as(job.output()).isEqualTo(137);
        assertNothingIsLeft(job);
        assertThat(names(temporary))
                .noneMatch(name -> !OF_OPEN_MPI.matcher(name).matches());
        assertThat(Segments.leftSince(thereBefore)).isEmpty();
        return job;
    }

    /** A folder of this test's own for what others put into /tmp: the JVM by a property, Open MPI by a variable. */
    private Map<String, String> surroundings(String steps) {
        Map<String, String> environment = new HashMap<>(NoLimits.SETTINGS);
        environment.put("JDK_JAVA_OPTIONS", "-Djava.io.tmpdir=" + temporary);
        environment.put("TMPDIR", temporary.toString());
        environment.put("HVD_SHARED_MEMORY", steps.equals("inside-mpi") ? "0" : "1");
        return environment;
    }

    private static List<String> names(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).toList();
        }
    }

    /** In the monitor's words where the ranks sit inside MPI, otherwise in those of whoever is the first to see it. */
    private static String goneAs(int culprit, String steps) {
        String inMpi = "ranks \\[" + culprit + "] on this host are gone";
        return steps.equals("inside-mpi") ? inMpi : "rank " + culprit + " is gone|" + inMpi;
    }

    private static Job fail(String fault, int culprit) {
        return fail(RANKS, fault, culprit);
    }

    private static Job fail(int ranks, String fault, int culprit) {
        Job job = Job.horovodrun(ranks, NoLimits.SETTINGS, FaultyProgram.class, fault, String.valueOf(culprit));
        assertNothingIsLeft(job);
        return job;
    }

    private static void assertNothingIsLeft(Job job) {
        List<Long> pids = job.output()
                .lines()
                .filter(line -> line.matches("PID \\d+"))
                .map(line -> Long.parseLong(line.substring(4)))
                .toList();
        assertThat(pids).isNotEmpty();
        for (long pid : pids) {
            // mpirun may be gone a moment before the kernel has taken down the last of its ranks.
            ProcessHandle.of(pid)
                    .ifPresent(left ->
                            assertThat(left.onExit()).as("process " + pid).succeedsWithin(LEAVE));
        }
    }

    /** What the launcher printed after everybody else. */
    private static String lastWords(Job job) {
        int from = job.output().lastIndexOf("first failure");
        assertThat(from).as(job.output()).isNotNegative();
        return job.output().substring(from);
    }
}
