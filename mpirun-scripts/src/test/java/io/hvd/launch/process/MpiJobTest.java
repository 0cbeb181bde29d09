package io.hvd.launch.process;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.error.FailureRecord;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** With a script in the place of mpirun; {@code HorovodrunIT} has the real one. */
@Timeout(60)
final class MpiJobTest {

    private static final String RANK = "sleep 600 >/dev/null 2>&1 &";

    @TempDir
    private Path temporary;

    /** The folder of the failure records. */
    @TempDir
    private Path folder;

    @AfterEach
    void endAll() {
        JobProcesses.living(folder).forEach(ProcessHandle::destroyForcibly);
    }

    @Test
    void ranksThatAnMpirunHasLeftBehindAreGoneAfterTheEnd() throws Exception {
        MpiJob job = job(RANK);
        assertThat(job.run()).isZero();
        assertThat(JobProcesses.living(folder)).hasSize(1);

        job.end();
        job.release();

        assertThat(JobProcesses.living(folder)).isEmpty();
    }

    @Test
    void aRankThatMpirunStartsWhileItIsEndedIsGoneToo() throws Exception {
        Path running = temporary.resolve("running");
        MpiJob job = job("trap '" + RANK + " exit 0' TERM; touch " + running + "; while :; do sleep 0.1; done");
        CompletableFuture<Integer> exitCode = new CompletableFuture<>();
        Thread main = new Thread(() -> run(job, exitCode));
        main.start();
        while (!Files.exists(running)) {
            Thread.onSpinWait();
        }

        job.end();
        job.release();

        assertThat(JobProcesses.living(folder)).isEmpty();
        assertThat(exitCode.get()).isZero();
    }

    @Test
    void theExitCodeUnderHydraIsThatOfTheFirstRankAndNotOfOneThatHydraHasKilled() throws Exception {
        String ends = "echo 'hvd: the process of rank 2 on b has ended with code 1' >&2; exit 9";

        MpiJob hydra = job(ends, true);
        assertThat(hydra.run()).isEqualTo(1);
        hydra.release();

        MpiJob other = job(ends);
        assertThat(other.run()).isEqualTo(9);
        other.release();
    }

    private static void run(MpiJob job, CompletableFuture<Integer> exitCode) {
        try {
            exitCode.complete(job.run());
        } catch (Exception e) {
            exitCode.completeExceptionally(e);
        }
    }

    private MpiJob job(String script) {
        return job(script, false);
    }

    private MpiJob job(String script, boolean hydra) {
        Map<String, String> environment = Map.of(
                "PATH",
                System.getenv("PATH"),
                "TMPDIR",
                temporary.toString(),
                FailureRecord.DIRECTORY_VARIABLE,
                folder.toString());
        var around = new LaunchEnvironment(environment, Optional.empty(), false, false);
        return new MpiJob(List.of("sh", "-c", script), hydra, environment, folder, around);
    }
}
