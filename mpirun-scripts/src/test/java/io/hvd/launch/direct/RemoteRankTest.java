package io.hvd.launch.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.launch.mpi.MpiInstall;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The script for other hosts, started by a shell of this one in the place of ssh. */
@Timeout(60)
final class RemoteRankTest {

    @TempDir
    private Path folder;

    private Process shell;

    @AfterEach
    void endWhatAFailedTestLeft() {
        shell.descendants().forEach(ProcessHandle::destroyForcibly);
        shell.destroyForcibly();
    }

    @Test
    void wordsAndValuesArriveAsTheyAreAndAreNotEvaluated() throws Exception {
        String odd = " a 'b' \"c\" $(touch evaluated) `id` \\n \\ \n second\tline ";

        BufferedReader out = start(Map.of("ODD", odd), "printf", "%s|%s|", odd, "");

        assertThat(out.readLine()).startsWith(RemoteRank.STARTED);
        assertThat(rest(out)).isEqualTo(odd + "||");
        assertThat(exitCode()).isZero();

        out = start(Map.of("ODD", odd), "sh", "-c", "printf %s \"$ODD\"; pwd; cat");
        out.readLine();
        assertThat(rest(out)).isEqualTo(odd + folder + "\n");
        assertThat(folder.resolve("evaluated")).doesNotExist();
    }

    @Test
    void theExitCodeIsTheRanksOrThatOfItsSignal() throws Exception {
        start(Map.of(), "sh", "-c", "exit 7");
        assertThat(exitCode()).isEqualTo(7);

        start(Map.of(), "sh", "-c", "kill -9 $$");
        assertThat(exitCode()).isEqualTo(137);
    }

    @Test
    void whatASecondCallWritesIsTheRanksInputByteForByte() throws Exception {
        String bytes = "a\\n\0b \n\u00e4 no end";
        BufferedReader out = start(Map.of(), true, "cat");
        String pipe = out.readLine().split(" ")[2];

        Process call = new ProcessBuilder("sh", "-c", RemoteRank.input(pipe)).start();
        call.getOutputStream().write(bytes.getBytes(StandardCharsets.UTF_8));
        call.getOutputStream().close();

        assertThat(rest(out)).isEqualTo(bytes);
        assertThat(exitCode()).isZero();
        assertThat(Path.of(pipe).getParent()).doesNotExist();
    }

    @Test
    void aSignalAndTheEndOfTheOrdersReachARankThatDoesNotReadItsInput() throws Exception {
        String rank = "trap 'echo ready' USR1; echo ready; while :; do sleep 0.05; done";
        BufferedReader out = start(Map.of(), true, "sh", "-c", rank);
        String pipe = out.readLine().split(" ")[2];
        Process call = new ProcessBuilder("sh", "-c", RemoteRank.input(pipe))
                .redirectInput(Path.of("/dev/zero").toFile())
                .start();
        try {
            awaitReady(out);
            shell.getOutputStream().write(RemoteRank.signal("USR1"));
            shell.getOutputStream().flush();
            awaitReady(out);
            shell.getOutputStream().close();
            assertThat(exitCode()).isEqualTo(143);
        } finally {
            call.destroyForcibly();
        }
    }

    /** The other end of its input never comes. */
    @Test
    void theEndOfTheOrdersEndsARankThatHasNotBegun() throws Exception {
        BufferedReader out = start(Map.of(), true, "cat");
        String pipe = out.readLine().split(" ")[2];

        shell.getOutputStream().close();

        assertThat(exitCode()).isBetween(129, 255);
        assertThat(Path.of(pipe).getParent()).doesNotExist();
    }

    @Test
    void aSignalReachesTheRank() throws Exception {
        BufferedReader out =
                start(Map.of(), "sh", "-c", "trap 'exit 5' USR1; echo ready; while :; do sleep 0.05; done");
        awaitReady(out);

        shell.getOutputStream().write(RemoteRank.signal("USR1"));
        shell.getOutputStream().flush();

        assertThat(exitCode()).isEqualTo(5);
    }

    /** Which is what a launcher that is killed looks like from there. */
    @Test
    void theEndOfTheOrdersEndsARankThatNoSigtermEndsAndItsChildren() throws Exception {
        BufferedReader out = start(Map.of(), "sh", "-c", "trap '' TERM; sleep 600 & echo ready; wait");
        awaitReady(out);
        List<ProcessHandle> family = shell.descendants().toList();
        assertThat(family).hasSizeGreaterThanOrEqualTo(2);

        shell.getOutputStream().close();

        assertThat(exitCode()).isEqualTo(137);
        for (ProcessHandle process : family) {
            process.onExit().get(20, TimeUnit.SECONDS);
        }
    }

    /** In a part of the looks at such a process it has no environment to show. */
    @RepeatedTest(3)
    void theEndOfTheOrdersEndsARankThatIsJustExecutingAProgram() throws Exception {
        String again = "exec sh -c \"$0\" \"$0\"";
        BufferedReader out = start(Map.of(), "sh", "-c", "trap '' TERM; " + again, again);
        assertThat(out.readLine()).startsWith(RemoteRank.STARTED);

        shell.getOutputStream().close();

        assertThat(exitCode()).isEqualTo(137);
    }

    /** As on macOS: there is no /proc, or no grep that reads it. */
    @Test
    void theEndOfTheOrdersEndsItAlsoWhereNoEnvironmentIsShown() throws Exception {
        Path programs = Files.createDirectories(folder.resolve("bin"));
        for (String program : List.of("sh", "dd", "setsid", "sleep", "rm")) {
            Files.createSymbolicLink(
                    programs.resolve(program),
                    MpiInstall.onPath(program, System.getenv()).orElseThrow());
        }
        BufferedReader out =
                start(Map.of("PATH", programs.toString()), "sh", "-c", "trap '' TERM; sleep 600 & echo ready; wait");
        awaitReady(out);
        List<ProcessHandle> family = shell.descendants().toList();

        shell.getOutputStream().close();

        assertThat(exitCode()).isEqualTo(137);
        for (ProcessHandle process : family) {
            process.onExit().get(20, TimeUnit.SECONDS);
        }
    }

    private BufferedReader start(Map<String, String> environment, String... command) throws IOException {
        return start(environment, false, command);
    }

    private BufferedReader start(Map<String, String> environment, boolean reads, String... command) throws IOException {
        var builder = new ProcessBuilder("/bin/sh", "-c", RemoteRank.SHELL);
        builder.environment().putAll(environment);
        shell = builder.start();
        Map<String, String> variables = new HashMap<>(environment);
        variables.put("HVD_FAILURE_DIR", folder.toString());
        variables.put("HOROVOD_RANK", "3");
        shell.getOutputStream()
                .write(RemoteRank.start(variables, Files.createDirectories(folder), List.of(command), reads));
        shell.getOutputStream().flush();
        return shell.inputReader();
    }

    private static void awaitReady(BufferedReader out) throws IOException {
        String line = out.readLine();
        while (line != null && !line.equals("ready")) {
            line = out.readLine();
        }
        assertThat(line).isEqualTo("ready");
    }

    private static String rest(BufferedReader out) throws IOException {
        var text = new StringBuilder();
        for (int c = out.read(); c >= 0; c = out.read()) {
            text.append((char) c);
        }
        return text.toString();
    }

    private int exitCode() throws InterruptedException {
        assertThat(shell.waitFor(30, TimeUnit.SECONDS)).isTrue();
        return shell.exitValue();
    }
}
