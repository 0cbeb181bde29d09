package io.hvd.job;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.spi.StartupHook;
import io.hvd.testing.Job;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What prepares libraries for a rank runs while MPI starts, and init waits for it on all ranks. */
class StartupHookIT {
    @TempDir
    private Path folder;

    @Test
    void mpiStartsWhileAHookRuns() throws IOException {
        Job job = start("-D" + WaitingHook.WAITS + "=true");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("MPI starts beside the hook")).hasSize(2);
        assertThat(job.lines("has joined")).hasSize(2);
    }

    @Test
    void aHookThatFailsOnOneRankIsNamedOnAllRanks() throws IOException {
        Job job = start("-D" + WaitingHook.FAILING_RANK + "=1");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(3);
        assertThat(job.lines("has joined")).isEmpty();
        assertThat(job.lines("refused: "))
                .as(job.output())
                .hasSize(2)
                .allSatisfy(line ->
                        assertThat(line).contains("rank 1 (", "could not be prepared", "no library for this rank"));
    }

    /** The hook is named on the class path of these jobs alone. */
    private Job start(String flag) throws IOException {
        Path services = Files.createDirectories(folder.resolve("META-INF/services"));
        Files.writeString(services.resolve(StartupHook.class.getName()), WaitingHook.class.getName());
        List<String> command = new ArrayList<>(Job.program(StartupHookProgram.class));
        int classPath = command.indexOf("-cp") + 1;
        command.set(classPath, command.get(classPath) + File.pathSeparator + folder);
        command.add(1, flag);
        return Job.horovodrun(2, Map.of(), command);
    }
}
