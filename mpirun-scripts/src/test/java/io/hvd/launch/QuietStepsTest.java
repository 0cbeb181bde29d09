package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What setup.sh and quickstart.sh install, and what they show while a step takes its time and when it fails. */
@Timeout(120)
final class QuietStepsTest {

    private static final Path TOOLS = Path.of("setup/tools.sh").toAbsolutePath();

    @TempDir
    private Path folder;

    /** The step waits until its own sign of life has been shown. */
    @Test
    void aLongStepShowsItsNameItsSecondsAndWhatItPrintedLast() {
        Path shown = folder.resolve("shown");
        Job job = bash(
                "beat=0.05; say 'fetching (much)'; quietly sh -c 'echo \"Downloading from x: https://y/z/torch.jar (1.2 MB at 3 MB/s)\";"
                        + " until grep -q torch.jar " + shown + "; do :; done' 2>>" + shown + "; cat " + shown);

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("setup: ").get(0)).matches("setup: \\[\\d+ s] fetching \\(much\\)");
        assertThat(job.lines("setup: ").get(1))
                .matches("setup: fetching, \\d+ s: Downloading torch.jar \\(1.2 MB at 3 MB/s\\)");
        assertThat(folder.resolve("log")).content().contains("https://y/z/torch.jar");
    }

    @Test
    void aStepThatFailsShowsItsLastLinesAndNamesItsLog() {
        Job job = bash("say building; quietly seq 3; quietly sh -c 'seq 100 200; echo it is full >&2; exit 7'");

        assertThat(job.exitCode()).isEqualTo(7);
        assertThat(job.output().lines().toList())
                .hasSize(42)
                .contains("200", "it is full")
                .doesNotContain("100", "3")
                .last()
                .asString()
                .isEqualTo("setup: sh has failed with exit code 7; all of its output is in " + folder.resolve("log"));
    }

    /** The pipe ends with the last process that writes into it; the step kills the script. */
    @Test
    void noSignsOfLifeOutliveAScriptThatIsKilled() {
        String script = ". " + TOOLS + "; quiet_log=" + folder.resolve("log")
                + "; beat=0.05; say building; quietly sh -c 'kill -KILL \\$PPID'";
        Job job = bash("bash -c \"" + script + "\" 2>&1 | cat || true; echo the pipe has ended");

        assertThat(job.lines("setup: ")).hasSize(1);
        assertThat(job.output()).endsWith("the pipe has ended\n");
    }

    @Test
    void whereNoLogCanBeWrittenTheStepRunsAllTheSame() {
        Job job = bash("quiet_log=/proc/none/log; begin_quiet_log; quietly echo fine && echo went on");

        assertThat(job.output()).isEqualTo("went on\n");
    }

    @Test
    void aMachineWithoutAnythingLacksAJdkMavenAndOpenMpi() {
        Job job = bash(". " + TOOLS.resolveSibling("packages.sh")
                + "; wants_mpi=yes; jdk_version() { :; }; has() { return 1; }; apt-cache() { :; }; missing_packages");

        assertThat(job.output().lines().toList())
                .startsWith("openjdk-17-jdk-headless", "maven", "openmpi-bin", "xz-utils");
    }

    /** Its JDK 21 would compile hvd, but cannot call MPI. */
    @Test
    void whereMpirunIsMpichsTheJdkMustHaveForeignFunctions() {
        Job job = bash(". " + TOOLS.resolveSibling("packages.sh")
                + "; wants_mpi=yes; unset HVD_OPENMPI_HOME; is_jdk() { (($2 <= 21)); }; has() { return 1; }"
                + "; mpirun() { printf 'HYDRA build details:\\n    Version:    4.2.1\\n'; }"
                + "; apt-cache() { [[ $2 == openjdk-2[15]-jdk-headless ]]; }; missing_packages");

        assertThat(job.output().lines().toList())
                .startsWith("openjdk-25-jdk-headless", "maven")
                .doesNotContain("openmpi-bin", "xz-utils");
    }

    private Job bash(String script) {
        String begin = "set -euo pipefail; . " + TOOLS + "; quiet_log=" + folder.resolve("log") + "; ";
        return Job.run(List.of("bash", "-c", begin + script), Map.of());
    }
}
