package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.hvd.error.HvdException;
import io.hvd.testing.HostsProgram;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(400)
final class HvdLauncherIT {

    @TempDir
    private Path folder;

    @Test
    void everyRankHandsItsResultBackByRank() throws Exception {
        List<String> scores = HvdLauncher.ranks(2)
                .environment("SCORE", "a b")
                .java("-Dmark=here")
                .directory(folder)
                .call(ScoreProgram.class, "score");

        String rest = " of 2 sum 3.0 in " + folder.toRealPath() + " with a b here";
        assertThat(scores).containsExactly("rank 0" + rest, "rank 1" + rest);
    }

    @Test
    void theFirstFailureIsTheCallersException() throws Exception {
        var failure = catchThrowableOfType(
                JobFailedException.class, () -> HvdLauncher.ranks(2).call(ScoreProgram.class, "fail"));

        assertThat(failure.rank()).isEqualTo(1);
        assertThat(failure.exitCode()).isEqualTo(1);
        assertThat(failure.host())
                .isEqualTo(InetAddress.getLocalHost().getHostName().replaceFirst("\\..*", ""));
        assertThat(failure)
                .hasMessageContainingAll(
                        "HVD-601",
                        "first failure: rank 1 on ",
                        "the score is NaN",
                        "ScoreProgram.run",
                        "in consequence");
    }

    @Test
    void atTheLimitTheJobIsEnded() throws Exception {
        assertThatThrownBy(
                        () -> HvdLauncher.ranks(2).limit(Duration.ofSeconds(8)).call(ScoreProgram.class, "wait"))
                .isInstanceOf(JobFailedException.class)
                .hasMessageContaining("did not end within PT8S");

        assertThat(programs()).isEmpty();
    }

    @Test
    void aCallerThatIsInterruptedLeavesNothingBehind() throws Exception {
        var ended = new CompletableFuture<Throwable>();
        var caller = new Thread(() -> {
            try {
                HvdLauncher.ranks(2).call(ScoreProgram.class, "wait");
            } catch (Throwable e) {
                ended.complete(e);
            }
        });
        caller.start();
        while (programs().count() < 2) {
            TimeUnit.MILLISECONDS.sleep(20);
        }

        caller.interrupt();

        assertThat(ended.get(180, TimeUnit.SECONDS)).isInstanceOf(InterruptedException.class);
        assertThat(programs()).isEmpty();
    }

    @Test
    void theShortFormsRunAPlainMainClassAndAProgramWithResultsAndAWrongFlagIsRefusedBeforeAnythingStarts()
            throws Exception {
        HvdLauncher.run(HostsProgram.class, new String[0], 2);
        assertThat(HvdLauncher.call(ScoreProgram.class, new String[] {"score"}, 2))
                .satisfiesExactly(
                        zero -> assertThat(zero).startsWith("rank 0 of 2 sum 3.0 "),
                        one -> assertThat(one).startsWith("rank 1 of 2 sum 3.0 "));

        assertThatThrownBy(() -> HvdLauncher.ranks(2).flags("--no-such-flag").run(HostsProgram.class))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("HVD-202", "no-such-flag");
    }

    /** Ranks of this test's jobs that live; what mpirun itself starts in between has another command line. */
    private static Stream<ProcessHandle> programs() {
        return ProcessHandle.current()
                .descendants()
                .filter(process -> process.info().commandLine().orElse("").contains(ScoreProgram.class.getName()));
    }
}
