package io.hvd.launch.process;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.error.FailureRecord;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
final class JobProcessesTest {

    /** In a part of these looks the process has no environment to show. */
    @Test
    void aProcessThatIsJustExecutingAProgramIsSeen(@TempDir Path folder) throws Exception {
        ProcessBuilder builder = new ProcessBuilder("sh", "-c", "exec sh -c \"$0\" \"$0\"");
        builder.command().add(builder.command().get(2));
        builder.environment().put(FailureRecord.DIRECTORY_VARIABLE, folder.toString());
        Process process = builder.start();
        try {
            for (int look = 0; look < 500; look++) {
                assertThat(JobProcesses.living(folder)).hasSize(1);
            }
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void theEndOfAProcessThatIsNoChildIsSeenAtOnce() throws Exception {
        Process parent = new ProcessBuilder("sh", "-c", "sleep 600 >&2 & echo $!; wait").start();
        try {
            long pid = Long.parseLong(parent.inputReader().readLine());
            List<ProcessHandle> grandchild = List.of(ProcessHandle.of(pid).orElseThrow());

            assertThat(JobProcesses.endedWithin(grandchild, 20)).isFalse();
            grandchild.get(0).destroyForcibly();
            assertThat(JobProcesses.endedWithin(grandchild, 200)).isTrue();
        } finally {
            parent.destroyForcibly();
        }
    }
}
