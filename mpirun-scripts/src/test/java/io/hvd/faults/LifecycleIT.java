package io.hvd.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import io.hvd.testing.Mpirun;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Beginning and end of a job under real mpirun. */
class LifecycleIT {
    @Test
    void initShutdownAndInitAgainWork() {
        requireThreeLives("again-without-close");
    }

    /** SettingsIT runs it every day, on another thread level. */
    @Test
    @Tag("long")
    void initCloseAndInitAgainWork() {
        requireThreeLives("again");
    }

    private static void requireThreeLives(String variant) {
        Job job = Job.horovodrun(2, LifecycleProgram.class, variant);

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("THREE LIVES")).hasSize(2);
        assertThat(job.lines("rank(s) on")).hasSize(3).allMatch(line -> line.contains(", MPI_THREAD_FUNNELED)"));
    }

    @Test
    void aRankThatSavesAfterShutdownIsWaitedFor() {
        Job job = Job.horovodrun(2, LifecycleProgram.class, "save-at-the-end");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("SAVED")).hasSize(1);
    }

    @Test
    void someOfTheRanksCanFormAJobInAnOrderOfTheirOwn() {
        Job job = Job.horovodrun(4, LifecycleProgram.class, "some");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output())
                .contains("WORLD 2 RANK 0 OF 2", "WORLD 1 RANK 1 OF 2", "WORLD 0 RANK 0 OF 2", "WORLD 3 RANK 1 OF 2");
    }

    @Test
    void anMpiJarOfAnotherVersionIsNamedWithBothVersionsBeforeItCanDoHarm(@TempDir Path folder) throws IOException {
        Path foreign = folder.resolve("mpi.jar");
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.IMPLEMENTATION_VERSION, "3.1.6");
        new JarOutputStream(Files.newOutputStream(foreign), manifest).close();

        Job job = Job.horovodrun(2, Map.of("HVD_MPI_JAR", foreign.toString()), LifecycleProgram.class, "init");

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output()).contains("HVD-105", "3.1.6", foreign.toString(), "mpirun-scripts/setup.sh");
        assertThat(job.output()).containsPattern("Open MPI \\d+\\.\\d+\\.\\d+ ");
        assertThat(job.output()).containsPattern("first failure: rank [01] on .*\\s+init failed: .*HVD-105");
    }

    @Test
    void withoutMpirunAProgramIsAJobOfOneRank() {
        Job job = Job.run(Job.program(LifecycleProgram.class, "again"), Map.of());

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output()).contains("THREE LIVES");
    }

    @Test
    void plainMpirunNeedsNoJvmFlags() {
        List<String> command = Mpirun.command(2);
        command.addAll(Job.program(LifecycleProgram.class, "again"));

        Job job = Job.run(command, Map.of());

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("THREE LIVES")).hasSize(2);
    }

    @Test
    void aBadSettingIsNamedWithWhatWasExpected() {
        Job job = Job.horovodrun(2, Map.of("HOROVOD_FUSION_THRESHOLD", "lots"), LifecycleProgram.class, "init");

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output()).contains("HOROVOD_FUSION_THRESHOLD", "\"lots\"", "whole number");
    }

    /** The end of MPI in its process would wait for the others, and these wait for it in their init. */
    @ParameterizedTest
    @CsvSource({"setting, whole number", "ranks, named twice"})
    void aRankThatIsRefusedBeforeItJoinsAgainEndsTheJob(String why, String named) {
        Job job = Job.horovodrun(2, NoLimits.SETTINGS, LifecycleProgram.class, "refused-again", why);

        requireRefused(job, named);
    }

    @Test
    void aRankWithoutFilesToJoinAgainEndsTheJob() {
        Job job = Job.horovodrun(2, NoLimits.SETTINGS, withFewFiles(1, 1));

        requireRefused(job, "this process may have 200 open files");
    }

    @ParameterizedTest
    @CsvSource({"throw", "return"})
    void aRankThatEndsWhereTheOthersJoinAgainIsNamedAndEndsTheJob(String how) {
        requireNamedWhereOthersJoin(how);
    }

    @ParameterizedTest
    @CsvSource({"exit", "close"})
    @Tag("long")
    void soIsOneThatEndsThereInOtherWays(String how) {
        requireNamedWhereOthersJoin(how);
    }

    private static void requireNamedWhereOthersJoin(String how) {
        Job job = Job.horovodrun(2, NoLimits.SETTINGS, LifecycleProgram.class, "ends-between", how);

        assertThat(job.exitCode()).as(job.output()).isNotZero();
        assertThat(job.output())
                .contains("rank 1 has not called Hvd.init() again, as this rank has")
                .contains("throw".equals(how) ? "first failure: rank 1 on " : "first failure: rank ");
    }

    @Test
    void aRankThatEndsWhereSomeOthersJoinAgainWithItIsNamedAndEndsTheJob() {
        requireNamedWhereSomeJoin("return", "1 2 0");
    }

    @Test
    @Tag("long")
    void soIsOneThatExitsThere() {
        requireNamedWhereSomeJoin("exit", "0 1 2");
    }

    /** Rank 3 ends too, and nobody waits for it. */
    private static void requireNamedWhereSomeJoin(String how, String members) {
        Job job = Job.horovodrun(
                4, Map.of("HOROVOD_START_TIMEOUT", "5"), LifecycleProgram.class, "ends-before-some", how, members);

        assertThat(job.exitCode()).as(job.output()).isNotZero();
        String named = "ranks [1] have not called Hvd.init([" + members.replace(" ", ", ") + "]) within 5 s";
        assertThat(job.output())
                .containsPattern("first failure: rank [02] on .*\\s+init failed: .*" + Pattern.quote(named));
    }

    @Test
    void aProgramMayCatchThatItsRanksAreRefusedAndEndWell() {
        Job job = Job.horovodrun(2, Map.of(), LifecycleProgram.class, "refused-and-caught");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("GOES ON ALONE")).hasSize(2);
    }

    private static void requireRefused(Job job, String named) {
        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.output()).containsPattern("first failure: rank 1 on .*\\s+init failed: .*" + named);
    }

    @Test
    void withoutOpenMpiTheErrorSaysWhatToRun() {
        List<String> command = Job.program(LifecycleProgram.class, "init");

        Job job = Job.run(command, Map.of("HVD_BACKEND", "mpi", "PATH", "/nonexistent"));

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output()).contains("HVD-104", "mpirun-scripts/setup.sh");
    }

    /** The others would wait for it inside MPI, and no process would end by itself. */
    @Test
    void aRankThatCannotOpenASocketIsNamedOnEveryRankAndEndsTheJob() {
        Job job = Job.horovodrun(2, NoLimits.SETTINGS, withFewFiles(1, 0));

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.lines(" THREW "))
                .as(job.output())
                .hasSize(2)
                .allSatisfy(line -> assertThat(line)
                        .contains("[HVD-102] rank 1 (", "Too many open files", "could not open its control plane"));
        assertThat(job.output()).containsPattern("first failure: rank [01] on .*\\s+init failed: .*rank 1 \\(");
    }

    private static List<String> withFewFiles(int culprit, int free) {
        List<String> rank = new ArrayList<>(List.of("sh", "-c", "ulimit -n 200 && exec \"$@\"", "sh"));
        rank.addAll(Job.program(FullTableProgram.class, String.valueOf(culprit), String.valueOf(free)));
        return rank;
    }
}
