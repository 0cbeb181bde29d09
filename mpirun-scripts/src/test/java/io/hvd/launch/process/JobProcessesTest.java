package io.hvd.launch.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

final class JobProcessesTest {

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
