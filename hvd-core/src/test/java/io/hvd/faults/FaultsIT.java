package io.hvd.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import io.hvd.testing.Mpirun;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One bad rank ends the job soon, non-zero, with its cause as the last thing said, and nothing is left behind. */
class FaultsIT {
    private static final int RANKS = 4;
    /** The job itself needs a second or two to start here; what is tested is that it does not hang. */
    private static final double SOON_SECONDS = 30;

    /** A tenth of it where nothing else runs. */
    private static final double KILLED_SECONDS = 5;

    private static final Duration LEAVE = Duration.ofSeconds(5);

    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void aRankThatThrowsEndsTheJobWithItsException(int culprit) {
        Job job = fail("throw", culprit);

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
        Job job = fail("main-with-thread-left", 3);

        assertThat(job.exitCode()).isNotZero();
        assertThat(lastWords(job)).contains("first failure: rank 3", "main is gone, a thread is not");
    }

    @ParameterizedTest
    @ValueSource(strings = {"exit0", "exit3"})
    void exitBeforeCloseEndsTheJobAndNamesTheLine(String fault) {
        Job job = fail(fault, 1);

        assertThat(job.exitCode()).isEqualTo(fault.equals("exit3") ? 3 : 1);
        assertThat(lastWords(job))
                .contains("first failure: rank 1", "System.exit", "FaultyProgram.misbehave(FaultyProgram.java:");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3})
    void aKilledRankEndsTheJobSoonAndEverySurvivorLeavesItsRecord(int culprit) {
        Job job = fail("kill", culprit);

        assertThat(job.exitCode()).isEqualTo(137);
        assertThat(secondsAfterTheKill(job)).as(job.output()).isLessThan(KILLED_SECONDS);
        String words = job.output().substring(job.output().lastIndexOf("noticed first by rank "));
        for (int rank = 0; rank < RANKS; rank++) {
            assertThat(words.contains("rank " + rank + " on "))
                    .as("record of rank " + rank + " in " + words)
                    .isEqualTo(rank != culprit);
        }
        assertThat(words).contains("rank " + culprit + " is gone");
    }

    @Test
    void underPlainMpirunAKilledRankEndsTheJobSoonToo() {
        Job job = Job.run(Mpirun.command(RANKS, FaultyProgram.class, "kill", "1"), Map.of());

        assertThat(job.exitCode()).isEqualTo(137);
        assertThat(secondsAfterTheKill(job)).as(job.output()).isLessThan(KILLED_SECONDS);
        assertNothingIsLeft(job);
    }

    @Test
    void aHealthyProgramEndsWithZero() {
        Job job = Job.horovodrun(2, FaultyProgram.class, "none", "-1");

        assertThat(job.exitCode()).as(job.output()).isZero();
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
                                line.startsWith("hvd: ") && line.contains("[4] on ranks {0, 1, 3}; [5] on ranks {2}")))
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
    void aRankThatClosesEarlyIsNamedToThoseThatWaitForIt() {
        Job job = fail("early-close", 1);

        assertThat(job.exitCode()).isNotZero();
        assertThat(job.output()).contains("ranks {1} have closed their context");
    }

    @Test
    void underPlainMpirunTheCauseIsReadableToo() {
        Job job = Job.run(Mpirun.command(RANKS, FaultyProgram.class, "thread", "1"), Map.of());

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output()).contains("FAILED: rank 1 of 4", "the reader has lost its file");
        assertNothingIsLeft(job);
    }

    private static double secondsAfterTheKill(Job job) {
        long killedMillis = Long.parseLong(job.lines("KILLED AT ").get(0).substring("KILLED AT ".length()));
        return (job.endedMillis() - killedMillis) / 1000.0;
    }

    private static Job fail(String fault, int culprit) {
        Job job = Job.horovodrun(RANKS, FaultyProgram.class, fault, String.valueOf(culprit));
        assertThat(job.seconds()).as(job.output()).isLessThan(SOON_SECONDS);
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
