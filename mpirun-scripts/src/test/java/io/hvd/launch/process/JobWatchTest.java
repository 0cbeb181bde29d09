package io.hvd.launch.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
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

    /** As on macOS: there is no /proc, or no grep that reads it. */
    @Test
    void aSignalReachesARankAndItsChildrenAlsoWhereNoEnvironmentIsShown() throws Exception {
        Path sh = Files.createSymbolicLink(folder.resolve("sh"), Path.of("/bin/sh"));
        Process rank = new ProcessBuilder("setsid", "sh", "-c", "sleep 600 & echo; wait").start();
        rank.inputReader().readLine();
        List<ProcessHandle> children = rank.descendants().toList();
        try {
            JobWatch watch =
                    JobWatch.overRanks(folder, Map.of("PATH", sh.getParent().toString()));
            watch.addRank(rank);
            watch.send("TERM");

            rank.onExit().get();
            for (ProcessHandle child : children) {
                child.onExit().get();
            }
            assertThat(children).hasSize(1);
            watch.close();
        } finally {
            children.forEach(ProcessHandle::destroyForcibly);
            rank.destroyForcibly();
        }
    }
}
