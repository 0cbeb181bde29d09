package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.HostsProgram;
import io.hvd.testing.Job;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The launcher in a JVM of its own, with the mpirun of this machine. What waits for limits to pass runs beside the rest. */
@Timeout(400)
public final class HorovodrunIT {

    private static final int LIMIT_SECONDS = 180;
    private static final String JAVA =
            Path.of(System.getProperty("java.home"), "bin", "java").toString();

    /** Two ranks that say when they are there, and that no SIGTERM ends. */
    private static final String[] STUBBORN_RANKS = {
        "-np", "2", "sh", "-c", "trap '' TERM INT; echo ready; while :; do sleep 600; done"
    };

    @TempDir
    private Path folder;

    private Process launcher;
    private List<ProcessHandle> family = List.of();

    private record Outcome(int exitCode, String out, String err) {}

    @AfterEach
    void endWhatAFailedTestLeft() {
        if (launcher != null) {
            launcher.descendants().forEach(ProcessHandle::destroyForcibly);
            launcher.destroyForcibly();
        }
        family.forEach(ProcessHandle::destroyForcibly);
    }

    @Test
    void aJobThatSucceedsExitsWithZeroAndItsOutputPassesThrough() throws Exception {
        Outcome outcome = horovodrun("-np", "2", "sh", "-c", "echo rank $OMPI_COMM_WORLD_RANK of 2; echo to-err >&2");

        assertThat(outcome.exitCode()).as(outcome.err()).isZero();
        assertThat(outcome.out().lines()).containsExactlyInAnyOrder("rank 0 of 2", "rank 1 of 2");
        assertThat(outcome.err().lines()).containsExactly("to-err", "to-err");
    }

    @Test
    void moreRanksThanCoresRunWithoutFurtherAdo() throws Exception {
        int ranks = Runtime.getRuntime().availableProcessors() + 2;

        Outcome outcome = horovodrun("-np", "" + ranks, "sh", "-c", "echo $OMPI_COMM_WORLD_RANK");

        assertThat(outcome.exitCode()).as(outcome.err()).isZero();
        assertThat(outcome.out().lines()).hasSize(ranks);
    }

    @Test
    void standardInputReachesRankZero() throws Exception {
        Path input = Files.writeString(folder.resolve("input"), "first\nsecond\n");
        start(command("-np", "1", "cat"), Map.of(), ProcessBuilder.Redirect.from(input.toFile()));

        assertThat(finish().out()).isEqualTo("first\nsecond\n");
    }

    @Test
    void theExitCodeOfARankIsPassedOn() throws Exception {
        Outcome outcome = horovodrun("-np", "2", "sh", "-c", "exit 3");

        assertThat(outcome.exitCode()).isEqualTo(3);
        assertThat(outcome.err().lines().reduce((a, b) -> b))
                .hasValueSatisfying(last -> assertThat(last).contains("exit code 3"));
    }

    @Test
    void theProcessThatFailedFirstIsNamedAndItsExitCodeIsTheJobs() throws Exception {
        Outcome outcome = horovodrun(
                "-np",
                "3",
                "sh",
                "-c",
                "[ $OMPI_COMM_WORLD_RANK = 1 ] && exit 7; trap 'exit 9' TERM; while :; do sleep 0.1; done");

        assertThat(outcome.exitCode()).isEqualTo(7);
        if (outcome.err().contains("Process name:")) { // mpirun itself may lose its last words
            assertThat(outcome.err()).contains("horovodrun: first failure: rank 1 ended with exit code 7\n");
        }
    }

    @Test
    void everyRankHasItsFilesAndTheTerminalStillShowsTheOutput() throws Exception {
        Path output = folder.resolve("out put");

        Outcome outcome = horovodrun(
                "-np",
                "11",
                "--output-filename",
                output.toString(),
                "sh",
                "-c",
                "printf \"a $OMPI_COMM_WORLD_RANK\nno end\"; echo bad >&2; [ \"$1\" = '$x y' ]",
                "name",
                "$x y");

        assertThat(outcome.exitCode()).as(outcome.err()).isZero();
        assertThat(outcome.out()).contains("a 0", "a 10");
        assertThat(outcome.err().lines().filter("bad"::equals)).hasSize(11);
        for (int rank = 0; rank < 11; rank++) {
            Path files = output.resolve(String.format(Locale.ROOT, "rank.%02d", rank));
            assertThat(files.resolve("stdout")).hasContent("a " + rank + "\nno end");
            assertThat(files.resolve("stderr")).hasContent("bad");
            assertThat(Files.list(files)).hasSize(2);
        }
    }

    @Test
    void withFilesAKilledRankIsStillAKilledRankAndItsLastWordsAreThere() throws Exception {
        Path output = folder.resolve("output");

        Outcome outcome = horovodrun(
                "-np", "1", "--output-filename", output.toString(), "sh", "-c", "echo last words; kill -9 $$");

        assertThat(outcome.exitCode()).isEqualTo(137);
        assertThat(outcome.err()).contains("signal 9");
        assertThat(output.resolve("rank.0/stdout")).hasContent("last words");
    }

    @Test
    void everyLineCanBeginWithTimeRankAndStream() throws Exception {
        Outcome outcome = horovodrun("-np", "2", "--prefix-output-with-timestamp", "echo", "hello");

        assertThat(outcome.exitCode()).as(outcome.err()).isZero();
        assertThat(outcome.out()).containsPattern(":\\d\\d.*1,1.*stdout.*hello");
    }

    @Test
    void aFlagReachesTheRanksAndWinsOverFileAndEnvironment() throws Exception {
        Path config =
                Files.writeString(folder.resolve("job.yaml"), "params:\n  cycle_time_ms: 3\n  cache_capacity: 7\n");
        start(
                command(
                        "-np",
                        "1",
                        "--config-file",
                        config.toString(),
                        "--cycle-time-ms",
                        "2",
                        "--hierarchical-allgather",
                        "sh",
                        "-c",
                        "echo $HOROVOD_CYCLE_TIME $HOROVOD_CACHE_CAPACITY $HOROVOD_FUSION_THRESHOLD"),
                Map.of("HOROVOD_CYCLE_TIME", "4", "HOROVOD_CACHE_CAPACITY", "8", "HOROVOD_FUSION_THRESHOLD", "64"));

        Outcome outcome = finish();

        assertThat(outcome.exitCode()).as(outcome.err()).isZero();
        assertThat(outcome.out()).isEqualTo("2 7 64\n");
        assertThat(outcome.err())
                .contains("--hierarchical-allgather is accepted and has no effect")
                .hasLineCount(1);
    }

    @Test
    void underMpichAnOldJavaIsRefusedOrStartedWithoutMpi() throws Exception {
        Path mpirun = program(folder.resolve("mpirun"), "echo 'HYDRA build details:\n    Version: 4.0.2'");
        Path java = program(Files.createDirectories(folder.resolve("jdk/bin")).resolve("java"), "echo trained");
        Files.writeString(folder.resolve("jdk/release"), "JAVA_VERSION=\"17.0.1\"\n");
        Map<String, String> path = Map.of("PATH", mpirun.getParent() + ":" + System.getenv("PATH"));

        start(command("--mpi", "-np", "2", java.toString(), "T"), path);
        Outcome run = finish();
        start(command("--mpi", "-np", "2", "--dry-run", java.toString(), "T"), path);
        Outcome dryRun = finish();
        start(command("-np", "2", java.toString(), "T"), path);
        Outcome without = finish();

        assertThat(run.exitCode()).isEqualTo(2);
        assertThat(run.err()).contains("mpi-cannot-run-hvd", "MPICH 4.0.2", "Java 22 or newer", "have Java 17");
        assertThat(dryRun.exitCode()).as(dryRun.err()).isZero();
        assertThat(dryRun.out()).contains("-np 2 -bind-to none sh -c ", "horovodrun-rank " + java);
        assertThat(dryRun.err()).contains("nothing is started under MPICH 4.0.2: ");
        assertThat(without.exitCode()).as(without.err()).isZero();
        assertThat(without.out()).isEqualTo("trained\ntrained\n");
        assertThat(without.err()).contains("MPICH 4.0.2", "the ranks are started without MPI, as by --gloo");
    }

    private static Path program(Path file, String line) throws IOException {
        Files.writeString(file, "#!/bin/sh\n" + line + "\n");
        assertThat(file.toFile().setExecutable(true)).isTrue();
        return file;
    }

    @Test
    void aKilledRankGivesOneHundredThirtySeven() throws Exception {
        Outcome outcome =
                horovodrun("-np", "2", "sh", "-c", "[ $OMPI_COMM_WORLD_RANK = 0 ] || kill -9 $$; exec sleep 600");

        assertThat(outcome.exitCode()).isEqualTo(137);
        assertThat(outcome.err()).contains("signal 9");
    }

    @Test
    void theFirstCauseIsPrintedLastAndNothingIsLeftBehind() throws Exception {
        Outcome outcome = horovodrun(
                "-np", "2", JAVA, "-cp", System.getProperty("java.class.path"), RecordingRank.class.getName());

        assertThat(outcome.exitCode()).as(outcome.err()).isEqualTo(5);
        assertThat(outcome.out()).contains("rank 0 of 2", "rank 1 of 2");
        String block = outcome.err().substring(outcome.err().lastIndexOf("\n\n"));
        assertThat(block)
                .containsSubsequence(
                        "first failure: rank 1 on node",
                        "the test asked for it",
                        "java.lang.Error: planted",
                        "at Somewhere",
                        "in consequence: rank 0 on node",
                        "rank 1 has left",
                        "exit code 5")
                .endsWith("exit code 5\n");
        assertThat(temporaryFiles()).isEmpty();
    }

    @Test
    void sigtermToTheLauncherLeavesNoProcessAndNoFileBehind() throws Exception {
        launcher = new ProcessBuilder(command(STUBBORN_RANKS)).start();
        awaitReady(2);

        launcher.destroy();

        assertThat(launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(launcher.exitValue()).isEqualTo(128 + 15);
        assertFamilyGone();
        assertThat(temporaryFiles()).isEmpty();
    }

    @Test
    void anInterruptEndsRanksOfHvdAndLeavesNoSegmentAndNoSession() throws Exception {
        requireEndBySignal("INT");
    }

    @ParameterizedTest
    @ValueSource(strings = {"TERM", "HUP"})
    @Tag("long")
    void otherSignalsEndRanksOfHvdAndLeaveNoSegmentAndNoSession(String signal) throws Exception {
        requireEndBySignal(signal);
    }

    private void requireEndBySignal(String signal) throws Exception {
        startRanksOfHvd();
        Set<Path> files = openMpiFiles();

        signal(launcher, signal);

        assertThat(launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertFamilyGone();
        assertThat(temporaryFiles()).isEmpty();
        assertThat(files).noneMatch(Files::exists);
    }

    /** As the kernel does it for want of memory. */
    @Test
    void aLauncherThatIsKilledTakesItsJobAndItsFilesWithIt() throws Exception {
        startRanksOfHvd();
        Set<Path> files = openMpiFiles();

        launcher.destroyForcibly();

        assertFamilyGone();
        assertThat(temporaryFiles()).isEmpty();
        assertThat(files).noneMatch(Files::exists);
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    @Tag("long")
    void whereTheLauncherIsKilledStubbornRanksAndAnMpirunThatAnswersNoSignalAreEndedByForce() throws Exception {
        launcher = new ProcessBuilder(command(STUBBORN_RANKS)).start();
        awaitReady(2);
        new ProcessBuilder("sh", "-c", "kill -s STOP " + mpirun().pid()).start().waitFor();

        launcher.destroyForcibly();

        assertFamilyGone();
        assertThat(temporaryFiles()).isEmpty();
    }

    /** As {@code sbatch --signal=B:USR1} sends it before the time of a job is up. */
    @ParameterizedTest
    @ValueSource(strings = {"USR1", "USR2"})
    void aSignalOfTheUsersReachesEveryRank(String signal) throws Exception {
        String rank = "trap 'touch " + folder + "/saved-$OMPI_COMM_WORLD_RANK; exit 0' " + signal
                + "; echo ready; while :; do sleep 0.1; done";
        launcher = new ProcessBuilder(command("-np", "2", "sh", "-c", rank)).start();
        awaitReady(2);

        signal(launcher, signal);

        assertThat(launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(launcher.exitValue()).isZero();
        assertThat(folder.resolve("saved-0")).exists();
        assertThat(folder.resolve("saved-1")).exists();
        assertFamilyGone();
        assertThat(temporaryFiles()).isEmpty();
    }

    @Test
    @Tag("long")
    @Execution(ExecutionMode.CONCURRENT)
    void anMpirunThatAnswersNoSignalIsEndedByForceAndItsFilesAreDeleted() throws Exception {
        startRanksOfHvd();
        Set<Path> files = openMpiFiles();
        ProcessHandle mpirun = mpirun();
        new ProcessBuilder("sh", "-c", "kill -s STOP " + mpirun.pid()).start().waitFor();

        launcher.destroy();

        assertThat(launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertFamilyGone();
        assertThat(files).noneMatch(Files::exists);
    }

    @Test
    void whereMpirunItselfIsKilledTheLauncherSaysSoAndEndsTheRanks() throws Exception {
        startRanksOfHvd();
        Set<Path> files = openMpiFiles();
        ProcessHandle mpirun = mpirun();

        mpirun.destroyForcibly();

        assertThat(launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(launcher.exitValue()).isEqualTo(137);
        assertThat(new String(launcher.getErrorStream().readAllBytes(), StandardCharsets.UTF_8))
                .contains(
                        "horovodrun: first failure: mpirun itself was ended by signal 9; horovodrun has ended its ranks")
                .contains("horovodrun: exit code 137 (mpirun was killed by signal 9");
        assertFamilyGone();
        assertThat(temporaryFiles()).isEmpty();
        assertThat(files).noneMatch(Files::exists);
    }

    @Test
    void aSignalWhileHostsAreAskedLeavesNoSshBehind() throws Exception {
        Path ssh = Files.writeString(
                folder.resolve("ssh"),
                "#!/bin/sh\necho $$ >&2\necho ready >>" + folder.resolve("asked") + "\nexec sleep 600\n");
        assertThat(ssh.toFile().setExecutable(true)).isTrue();
        Path asked = Files.createFile(folder.resolve("asked"));
        var builder = new ProcessBuilder(command("-np", "2", "-H", "a.invalid:1,b.invalid:1", "true"));
        builder.environment().put("PATH", folder + ":" + System.getenv("PATH"));
        builder.environment().put("XDG_CACHE_HOME", folder.toString());
        launcher = builder.start();
        while (Files.readAllLines(asked).size() < 2) {
            assertThat(launcher.isAlive()).isTrue();
            TimeUnit.MILLISECONDS.sleep(20);
        }
        family = launcher.descendants().toList();

        launcher.destroy();

        assertThat(launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(family).hasSize(2);
        assertFamilyGone();
    }

    @Test
    void aSignalToTheWholeGroupReachesMpirunOnceSoThatARankHasItsSecondToSave() throws Exception {
        // One rank: the end of the first cuts mpirun's second short for the others.
        List<String> inItsOwnGroup = new ArrayList<>(List.of("setsid"));
        inItsOwnGroup.addAll(command(
                "-np",
                "1",
                "sh",
                "-c",
                "trap 'sleep 0.2; touch " + folder + "/saved-$OMPI_COMM_WORLD_RANK; exit' TERM;"
                        + " echo ready; while :; do sleep 0.1; done"));
        var builder = new ProcessBuilder(inItsOwnGroup);
        // Its second is long here: on a busy machine the rank needs more for the same.
        builder.environment().put("OMPI_MCA_odls_base_sigkill_timeout", "3");
        builder.environment().put("PRTE_MCA_odls_base_sigkill_timeout", "3");
        launcher = builder.start();
        awaitReady(1);

        new ProcessBuilder("sh", "-c", "kill -s TERM -- -" + launcher.pid()).start();

        assertThat(launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(folder.resolve("saved-0")).exists(); // a file: mpirun itself may lose last words
        assertFamilyGone();
        assertThat(temporaryFiles()).isEmpty();
    }

    @Test
    void whatCannotBeCarriedOutEndsWithTwoInOneLine() throws Exception {
        Outcome outcome = horovodrun("-np", "5", "-H", "a:2,b:2", "true");

        assertThat(outcome.exitCode()).isEqualTo(2);
        assertThat(outcome.err().lines()).hasSize(1).first().asString().contains("5 ranks", "4 slots");
        assertThat(outcome.out()).isEmpty();
    }

    @Test
    void withoutMpirunTheLineSaysWhatToInstall() throws Exception {
        start(command("-np", "1", "--mpi", "true"), Map.of("PATH", folder.toString()));

        Outcome outcome = finish();

        assertThat(outcome.exitCode()).isEqualTo(2);
        assertThat(outcome.err().lines()).hasSize(1).first().asString().contains("openmpi-bin", "--gloo");
    }

    @Test
    void verbosePrintsTheLineThatIsRunAndEveryRankSaysWhereItRuns() throws Exception {
        List<String> words = new ArrayList<>(List.of("-np", "2", "--verbose"));
        words.addAll(Job.program(HostsProgram.class));

        Outcome outcome = horovodrun(words.toArray(String[]::new));

        assertThat(outcome.exitCode()).as(outcome.err()).isZero();
        assertThat(outcome.err())
                .contains("Open MPI ", "mpirun ", "-np 2 ")
                .containsAnyOf("no search for fabrics", "left to Open MPI");
        for (int rank = 0; rank < 2; rank++) {
            assertThat(outcome.out() + outcome.err())
                    .containsPattern(
                            "rank " + rank + " of 2 on \\S+: local rank " + rank + " of 2, cross rank 0 of 1, ");
        }
    }

    @Test
    void dryRunStartsNothing() throws Exception {
        Outcome outcome = horovodrun(
                "-np", "1", "--dry-run", "touch", folder.resolve("touched").toString());

        assertThat(outcome.exitCode()).as(outcome.err()).isZero();
        assertThat(outcome.out()).contains("# ranks asked for", "mpirun ", " touch ");
        assertThat(folder.resolve("touched")).doesNotExist();
    }

    @Test
    void checkBuildHasABoxPerItem() throws Exception {
        Outcome outcome = horovodrun("--check-build");

        assertThat(outcome.exitCode()).as(outcome.err()).isZero();
        assertThat(outcome.out())
                .contains(
                        "[X] MPI (Open MPI ",
                        "[X] MPI\n",
                        "[X] local",
                        "[X] plain arrays",
                        "NCCL",
                        "LibTorch",
                        "JDK ",
                        "mpi.jar ");
    }

    @Test
    void checkBuildRefusesABadSettingInOneLine() throws Exception {
        start(command("--check-build"), Map.of("HOROVOD_CACHE_CAPACITY", "many"));

        Outcome outcome = finish();

        assertThat(outcome.exitCode()).isEqualTo(2);
        assertThat(outcome.err().lines()).singleElement().asString().contains("HOROVOD_CACHE_CAPACITY", "many");
    }

    @Test
    void theScriptStartsWhatTheBuildMade() throws Exception {
        start(List.of(script().toString(), "-np", "2", "echo", "hello"), Map.of());

        Outcome outcome = finish();

        assertThat(outcome.exitCode()).as(outcome.err()).isZero();
        assertThat(outcome.out()).isEqualTo("hello\nhello\n");
    }

    @Test
    void theScriptWorksBesideALibFolder() throws Exception {
        Files.createDirectories(folder.resolve("app/bin"));
        Files.createDirectories(folder.resolve("app/lib"));
        copyInto(folder.resolve("app/lib"), Path.of("target"), "glob:**/hvd-launch-?.?.?.jar");
        copyInto(folder.resolve("app/lib"), Path.of("target/lib"), "glob:**.jar");
        Path installed = Files.copy(script(), folder.resolve("app/bin/horovodrun"));
        Path link = Files.createSymbolicLink(folder.resolve("link"), installed);
        start(List.of(link.toString(), "--version"), Map.of());

        Outcome outcome = finish();

        assertThat(outcome.exitCode()).as(outcome.err()).isZero();
        assertThat(outcome.out()).containsPattern("^\\d+\\.\\d+");
    }

    @Test
    void theScriptSaysWhatToRunWhenNothingIsBuilt() throws Exception {
        Files.createDirectories(folder.resolve("fresh/mpirun-scripts"));
        Path copy = Files.copy(script(), folder.resolve("fresh/mpirun-scripts/horovodrun"));
        start(List.of(copy.toString(), "--version"), Map.of());

        Outcome outcome = finish();

        assertThat(outcome.exitCode()).isEqualTo(2);
        assertThat(outcome.err())
                .contains("nothing is built", "mvn", folder.resolve("fresh").toString());
    }

    private static Path script() {
        return Path.of("..", "mpirun-scripts", "horovodrun").toAbsolutePath().normalize();
    }

    private static void copyInto(Path target, Path source, String pattern) throws IOException {
        var matcher = source.getFileSystem().getPathMatcher(pattern);
        try (Stream<Path> files = Files.list(source)) {
            for (Path file : files.filter(matcher::matches).toList()) {
                Files.copy(file, target.resolve(file.getFileName()));
            }
        }
    }

    private Outcome horovodrun(String... args) throws IOException, InterruptedException {
        start(command(args), Map.of());
        return finish();
    }

    /** Where these tests run in the background of a script, INT or HUP is ignored, which a JVM would take over. */
    private List<String> command(String... args) throws IOException {
        Files.createDirectories(folder.resolve("tmp"));
        List<String> command = new ArrayList<>(List.of(
                "env",
                "--default-signal=INT,HUP",
                JAVA,
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Djava.io.tmpdir=" + folder.resolve("tmp"),
                "-cp",
                System.getProperty("java.class.path"),
                Horovodrun.class.getName()));
        command.addAll(List.of(args));
        return command;
    }

    private void start(List<String> command, Map<String, String> environment) throws IOException {
        start(
                command,
                environment,
                ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()));
    }

    private void start(List<String> command, Map<String, String> environment, ProcessBuilder.Redirect input)
            throws IOException {
        var builder = new ProcessBuilder(command)
                .redirectInput(input)
                .redirectOutput(folder.resolve("out").toFile())
                .redirectError(folder.resolve("err").toFile());
        builder.environment().putAll(environment);
        launcher = builder.start();
    }

    /** Waits until that many ranks have said so on standard output, and notes all processes of the job. */
    private void awaitReady(int ranks) throws IOException {
        BufferedReader out = launcher.inputReader();
        for (int i = 0; i < ranks; i++) {
            String line = out.readLine();
            while (line != null && !line.equals("ready")) {
                line = out.readLine();
            }
            assertThat(line).isEqualTo("ready");
        }
        family = launcher.descendants().toList();
        assertThat(family).as("mpirun and its ranks").hasSizeGreaterThan(ranks);
    }

    private void startRanksOfHvd() throws IOException {
        List<String> words = new ArrayList<>(List.of("-np", "2"));
        words.addAll(Job.program(HostsProgram.class, "wait"));
        var builder = new ProcessBuilder(command(words.toArray(String[]::new)));
        Files.createDirectories(folder.resolve("session"));
        builder.environment().put("TMPDIR", folder.resolve("session").toString());
        launcher = builder.start();
        awaitReady(2);
    }

    private ProcessHandle mpirun() {
        return launcher.children()
                .filter(child -> child.info().command().orElse("").matches(".*(mpirun|orterun|prterun)"))
                .findFirst()
                .orElseThrow();
    }

    private static void signal(Process process, String name) throws Exception {
        new ProcessBuilder("sh", "-c", "kill -s " + name + " " + process.pid())
                .start()
                .waitFor();
    }

    /** The shared-memory segments that the job has mapped, and the folder of mpirun's session. */
    private Set<Path> openMpiFiles() throws IOException {
        Set<Path> found = new TreeSet<>();
        for (ProcessHandle process : family) {
            try (Stream<String> lines = Files.lines(Path.of("/proc/" + process.pid() + "/maps"))) {
                lines.filter(line -> line.contains("_segment."))
                        .forEach(line -> found.add(Path.of(line.replaceFirst(".* (?=/dev/shm)", ""))));
            }
        }
        assertThat(found).as("segments").isNotEmpty();
        try (Stream<Path> sessions = Files.find(
                folder.resolve("session"),
                2,
                (file, attributes) -> file.toString().matches(".*/(pid|prte)\\.[^/]*"))) {
            sessions.forEach(found::add);
        }
        assertThat(found).as("and sessions").anyMatch(file -> file.startsWith(folder));
        return found;
    }

    private void assertFamilyGone() throws Exception {
        for (ProcessHandle process : family) {
            process.onExit().get(LIMIT_SECONDS, TimeUnit.SECONDS);
        }
    }

    private List<Path> temporaryFiles() throws IOException {
        try (Stream<Path> files = Files.list(folder.resolve("tmp"))) {
            return files.toList();
        }
    }

    private Outcome finish() throws IOException, InterruptedException {
        assertThat(launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS))
                .as("the launcher ends within %d s", LIMIT_SECONDS)
                .isTrue();
        return new Outcome(
                launcher.exitValue(), Files.readString(folder.resolve("out")), Files.readString(folder.resolve("err")));
    }
}
