package io.hvd.transport.mpi.openmpi;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.transport.mpi.openmpi.LauncherLimit.From;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Real processes in the place of mpirun. */
@Timeout(120)
class LauncherLimitTest {
    private static final Duration SHORT = Duration.ofMillis(400);

    @TempDir
    private Path folder;

    private Process launcher;

    @AfterEach
    void end() {
        launcher.descendants().forEach(ProcessHandle::destroyForcibly);
        launcher.destroyForcibly();
    }

    private void start(String script) throws IOException {
        launcher = new ProcessBuilder(List.of("sh", "-c", script)).start();
    }

    private void limit(From from) {
        LauncherLimit.begin(launcher.pid(), SHORT, folder, from);
    }

    /** Exit codes differ between shells; that it ends is what counts. */
    private boolean endsWithin(long seconds) throws InterruptedException {
        return launcher.waitFor(seconds, TimeUnit.SECONDS);
    }

    private Path session(String name) throws IOException {
        return Files.createDirectories(folder.resolve(name).resolve("jobs"));
    }

    @Test
    void aLauncherThatOutlivesItsLimitIsEndedAndItsFilesGo() throws Exception {
        start("exec sleep 100");
        String user = "" + Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        long pid = launcher.pid();
        List<Path> gone = List.of(
                session("ompi.here." + user + "/pid." + pid),
                session("prte.here." + pid + "." + user),
                session("prterun.here." + pid + "." + user));
        Path ofAnother = session("ompi.here." + user + "/pid." + pid + "0");
        Path planted = folder.resolve("ompi.link." + user);
        Path elsewhere = session("elsewhere/pid." + pid);
        Files.createSymbolicLink(planted, folder.resolve("elsewhere"));

        limit(From.NOW);

        assertThat(endsWithin(60)).isTrue();
        for (Path session : gone) {
            while (Files.exists(session)) {
                Thread.sleep(10);
            }
        }
        assertThat(ofAnother).exists();
        assertThat(elsewhere).exists();
    }

    @Test
    void oneThatListensToNothingIsKilled() throws Exception {
        start("trap '' INT TERM; while :; do sleep 0.1; done");
        limit(From.NOW);

        assertThat(endsWithin(60)).isTrue();
    }

    /** A connection to a host that has disappeared would outlive the launcher. */
    @Test
    void itsConnectionsToOtherHostsEndWithIt() throws Exception {
        Path ssh = Files.copy(Path.of("/bin/sleep"), folder.resolve("ssh"));
        start(ssh + " 100 & exec sleep 100");
        while (launcher.children().findAny().isEmpty()) {
            Thread.onSpinWait();
        }
        ProcessHandle connection = launcher.children().findAny().orElseThrow();
        limit(From.NOW);

        assertThat(endsWithin(60)).isTrue();
        connection.onExit().get(30, TimeUnit.SECONDS);
    }

    @Test
    void afterAGoodEndOneThatTakesNoNoticeOfItsRanksIsEnded() throws Exception {
        start("(exit 0) & exec sleep 100");
        limit(From.ENDS);

        assertThat(endsWithin(60)).isTrue();
    }

    /** Its reader may take his time, and all that the ranks have printed is still to come. */
    @Test
    void afterAGoodEndOneThatWaitsForTheReaderOfItsOutputIsLeftAlone() throws Exception {
        start("(exit 0) & exec head -c 10000000 /dev/zero");
        limit(From.ENDS);

        assertThat(endsWithin(3)).isFalse();
        assertThat(launcher.getInputStream().readAllBytes()).hasSize(10_000_000);
    }

    /** The ranks' part may have been one of several. */
    @Test
    void afterAGoodEndOneThatHasOtherWorkIsLeftAlone() throws Exception {
        start("(exit 0) & sleep 100 & exec sleep 100");
        limit(From.ENDS);

        assertThat(endsWithin(3)).isFalse();
    }

    @Test
    void afterAGoodEndOneThatHasTakenNoticeIsLeftAloneSinceItMayHaveRanksElsewhere() throws Exception {
        start("exec sleep 100");
        limit(From.ENDS);

        assertThat(endsWithin(3)).isFalse();
    }

    @Test
    void afterAGoodEndOnOneHostOneThatHasTakenNoticeAndStaysIsEnded() throws Exception {
        start("exec sleep 100");
        limit(From.ENDS_OF_ONE_HOST);

        assertThat(endsWithin(60)).isTrue();
    }

    @Test
    void afterAGoodEndOnOneHostOneThatHasOtherWorkIsLeftAlone() throws Exception {
        start("(exit 0) & sleep 100 & exec sleep 100");
        limit(From.ENDS_OF_ONE_HOST);

        assertThat(endsWithin(3)).isFalse();
    }
}
