package io.hvd.launch.process;

import static org.assertj.core.api.Assertions.assertThatCode;

import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code HorovodrunIT} has the launcher that is killed. */
@Timeout(60)
final class JobWatchTest {

    @TempDir
    private Path folder;

    @Test
    void aJobThatIsOverIsOverAlsoWhereSomebodyHasKilledTheShell() throws Exception {
        Process mpirun = new ProcessBuilder("sleep", "600").start();
        try {
            JobWatch watch = JobWatch.overMpirun(mpirun, folder, Map.of());
            ProcessHandle shell = ProcessHandle.current()
                    .children()
                    .filter(child -> child.info().commandLine().orElse("").contains(folder.toString()))
                    .findFirst()
                    .orElseThrow();
            shell.destroyForcibly();
            shell.onExit().get();

            assertThatCode(watch::close).doesNotThrowAnyException();
        } finally {
            mpirun.destroyForcibly();
        }
    }
}
