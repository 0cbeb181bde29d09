package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.hvd.launch.words.ShellWords;
import io.hvd.testing.HostsProgram;
import io.hvd.testing.Job;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** horovodrun --gloo with real processes on this machine. */
@Timeout(400)
final class DirectRunIT {

    private static final int LIMIT_SECONDS = 180;
    private static final Pattern RANK = Pattern.compile("rank (\\d) .* pid (\\d+) ");

    @TempDir
    private Path folder;

    private Process launcher;

    @AfterEach
    void endWhatAFailedTestLeft() {
        if (launcher != null) {
            launcher.descendants().forEach(ProcessHandle::destroyForcibly);
            launcher.destroyForcibly();
        }
    }

    @Test
    void fourRanksComputeTogetherWithoutMpi() {
        List<String> words = new ArrayList<>(List.of("--gloo", "-np", "4"));
        words.addAll(Job.program(HostsProgram.class));

        Job job = horovodrun(Map.of(), words.toArray(String[]::new));

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("sum 10.0")).hasSize(4);
        assertThat(job.lines("rank 3 local 3 of 4 ")).hasSize(1);
        assertThat(job.output()).doesNotContain("mpirun");
    }

    @Test
    void withoutAnMpirunTheRanksAreStartedAllTheSameAndALineSaysSo() throws IOException {
        Files.createSymbolicLink(folder.resolve("sh"), Path.of("/bin/sh"));
        Job job = horovodrun(
                Map.of("PATH", folder.toString(), "HVD_OPENMPI_HOME", ""),
                "-np",
                "2",
                "sh",
                "-c",
                "echo rank $HOROVOD_RANK of $HOROVOD_SIZE by $HOROVOD_CONTROLLER");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("rank ")).contains("rank 0 of 2 by gloo", "rank 1 of 2 by gloo");
        assertThat(job.lines("no mpirun on PATH")).hasSize(1);
    }

    @Test
    void ranksAreProcessGroupsOfOneSession() {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/perl")), "this machine has no Perl");
        Job job = horovodrun(
                Map.of(), "--gloo", "-np", "2", "sh", "-c", "echo place $$ $(cut -d ' ' -f 5,6 /proc/$$/stat)");

        assertThat(job.exitCode()).as(job.output()).isZero();
        List<String[]> places =
                job.lines("place ").stream().map(line -> line.split(" ")).toList();
        assertThat(places).hasSize(2).allSatisfy(place -> assertThat(place[2]).isEqualTo(place[1]));
        assertThat(places.get(0)[3]).isEqualTo(places.get(1)[3]);
    }

    @Test
    void onAnotherOperatingSystemNothingIsStartedAndASentenceSaysWhy() {
        for (String action : List.of("--gloo", "--dry-run")) {
            Job job = horovodrun(Map.of("JDK_JAVA_OPTIONS", "-Dos.name=Windows"), action, "-np", "1", "true");

            assertThat(job.exitCode()).as(job.output()).isEqualTo(2);
            assertThat(job.output()).contains("this is Windows").doesNotContain("\tat ");
        }
    }

    @Test
    void theRankThatEndsWithACodeIsNamedWithItsLastWordsAndEndsTheOthers() {
        Job job = horovodrun(
                Map.of(),
                "--gloo",
                "-np",
                "3",
                "sh",
                "-c",
                "[ $HOROVOD_RANK = 1 ] && { echo no data >&2; exit 7; }; trap 'exit 9' TERM; while :; do sleep 0.1; done");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(7);
        assertThat(job.output())
                .containsPattern("first failure: rank 1 on \\S+, pid \\d+, ended with exit code 7\n")
                .containsSubsequence("last lines", "rank 1", "no data", "exit code 7");
    }

    @Test
    void anotherKindOfOperationsThanTcpIsRefusedByTheRanks() {
        List<String> words = new ArrayList<>(List.of("--gloo", "-np", "2"));
        words.addAll(Job.program(HostsProgram.class));

        Job job = horovodrun(Map.of("HOROVOD_CPU_OPERATIONS", "ccl"), words.toArray(String[]::new));

        assertThat(job.exitCode()).as(job.output()).isNotZero();
        assertThat(job.output()).contains("HOROVOD_CPU_OPERATIONS is \"ccl\"");
    }

    @Test
    void aRankThatNeverJoinsIsNamedWithItsHostAfterTheStartLimit() {
        List<String> words = new ArrayList<>(List.of("--gloo", "-np", "2", "--start-timeout", "3", "sh", "-c"));
        words.addAll(List.of("[ $HOROVOD_RANK = 1 ] && exec sleep 1000; exec \"$0\" \"$@\""));
        words.addAll(Job.program(HostsProgram.class));

        Job job = horovodrun(Map.of(), words.toArray(String[]::new));

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.output())
                .containsPattern(
                        "first failure: rank 0 on ([^,]+), .*\n  init failed: .*ranks \\[1 on \\1] of 2 have not come"
                                + " .* within 3 s \\(HOROVOD_START_TIMEOUT\\)");
    }

    /** As {@code sbatch --signal} sends the first two, and a scheduler or a user the last two. */
    @ParameterizedTest
    @CsvSource({"USR1, USR1, 0", "USR2, USR2, 0", "TERM, TERM, 143", "HUP, TERM, 129"})
    void aSignalReachesEveryRankAsUnderMpirun(String sent, String heard, int code) throws Exception {
        String rank = "trap ': >" + folder + "/saved-$HOROVOD_RANK; exit 0' " + heard
                + "; echo ready; while :; do sleep 0.05; done";
        launcher = new ProcessBuilder(words("--gloo", "-np", "2", "sh", "-c", rank)).start();
        BufferedReader out = launcher.inputReader();
        assertThat(List.of(out.readLine(), out.readLine())).containsOnly("ready");

        new ProcessBuilder("sh", "-c", "kill -s " + sent + " " + launcher.pid()).start();

        assertThat(launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(launcher.exitValue()).isEqualTo(code);
        assertThat(folder.resolve("saved-0")).exists();
        assertThat(folder.resolve("saved-1")).exists();
    }

    @Test
    void theOutputOfEachRankIsKeptInAFileToo() throws IOException {
        Job job = horovodrun(
                Map.of(),
                "--gloo",
                "-np",
                "11",
                "--output-filename",
                folder.resolve("out").toString(),
                "sh",
                "-c",
                "echo out $HOROVOD_LOCAL_RANK; echo err >&2");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("out ")).hasSize(11);
        assertThat(folder.resolve("out/rank.07/stdout")).hasContent("out 7");
        assertThat(folder.resolve("out/rank.10/stderr")).hasContent("err");
    }

    @Test
    void aRankThatIsKilledIsNamedAndTheOthersFollowAtOnce() throws Exception {
        BufferedReader out = train();
        long victim = untilTheyTrain(out, 1);
        long begun = System.nanoTime();

        ProcessHandle.of(victim).orElseThrow().destroyForcibly();

        assertThat(launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        System.out.println("from the kill to the end: " + (System.nanoTime() - begun) / 1_000_000 + " ms");
        assertThat(launcher.exitValue()).isEqualTo(137);
        assertThat(Files.readString(folder.resolve("err")))
                .contains("first failure: rank 1 on ", "pid " + victim + ", was ended by signal 9 (first noticed")
                .contains("in consequence: rank 0 on ", "in consequence: rank 3 on ");
    }

    @Test
    void aLauncherThatIsKilledOrEndedTakesItsRanksWithIt() throws Exception {
        for (boolean byForce : new boolean[] {true, false}) {
            BufferedReader out = train();
            untilTheyTrain(out, 0);
            List<ProcessHandle> family = launcher.descendants().toList();
            assertThat(family).hasSizeGreaterThan(4);

            if (byForce) {
                launcher.destroyForcibly();
            } else {
                launcher.destroy();
            }

            assertThat(launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
            for (ProcessHandle process : family) {
                process.onExit().get(LIMIT_SECONDS, TimeUnit.SECONDS);
            }
        }
    }

    @Test
    void rankZeroReadsTheInputAndLinesBeginAsUnderMpirun() throws Exception {
        Path input = Files.writeString(folder.resolve("input"), "first\nsecond\n");
        launcher = new ProcessBuilder(words("--gloo", "-np", "2", "--prefix-output-with-timestamp", "cat"))
                .redirectInput(input.toFile())
                .start();

        assertThat(launcher.inputReader().lines())
                .hasSize(2)
                .allMatch(line -> line.matches("\\w{3} \\w{3} \\d\\d [\\d:]{8} \\d{4}\\[1,0]<stdout>:(first|second)"));
        assertThat(launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(launcher.exitValue()).isZero();
    }

    @Test
    void rankZeroReadsTheLaunchersTerminalWhichIsNotItsOwn() throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/script")), "this machine has no script of util-linux");
        String asks = "if read line; then echo got $line; fi; (: </dev/tty) 2>/dev/null || echo no terminal";
        String line = ShellWords.join(words("--gloo", "-np", "2", "sh", "-c", asks));
        launcher = new ProcessBuilder("/usr/bin/script", "-qec", line, "/dev/null").start();

        launcher.getOutputStream().write("hello\n".getBytes(StandardCharsets.US_ASCII));
        launcher.getOutputStream().flush();

        assertThat(launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(launcher.inputReader().lines())
                .contains("got hello")
                .filteredOn(said -> said.equals("no terminal"))
                .hasSize(2);
        assertThat(launcher.exitValue()).isZero();
    }

    private BufferedReader train() throws IOException {
        List<String> words = new ArrayList<>(List.of("--gloo", "-np", "4"));
        words.addAll(Job.program(HostsProgram.class, "train", "-1"));
        var builder = new ProcessBuilder(words(words.toArray(String[]::new)))
                .redirectError(folder.resolve("err").toFile());
        builder.environment().put("HVD_THREADS_PER_RANK", "1");
        launcher = builder.start();
        return launcher.inputReader();
    }

    /** @return the process of a rank */
    private long untilTheyTrain(BufferedReader out, int rank) throws IOException {
        long pid = 0;
        for (int ready = 0; ready < 4; ) {
            String line = out.readLine();
            assertThat(line).as("all ranks train").isNotNull();
            ready += line.equals("ready") ? 1 : 0;
            Matcher place = RANK.matcher(line);
            if (place.find() && Integer.parseInt(place.group(1)) == rank) {
                pid = Long.parseLong(place.group(2));
            }
        }
        assertThat(pid).isPositive();
        return pid;
    }

    private static Job horovodrun(Map<String, String> environment, String... args) {
        return Job.run(words(args), environment);
    }

    private static List<String> words(String... args) {
        return Job.program(Horovodrun.class, args);
    }
}
