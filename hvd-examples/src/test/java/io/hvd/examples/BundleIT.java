package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The bundle trains where there is nothing but it and a shell. To change the root folder takes root; that is why it is in the long tier. */
@Tag("long")
class BundleIT {
    private static final Path SCRIPT = Path.of("..", "mpirun-scripts", "bundle.sh");

    @TempDir
    Path folder;

    @Test
    void twoRanksTrainInABareRootFolder() {
        String target = folder.resolve("bundle").toString();

        Job job = Job.run(List.of(SCRIPT.toString(), "--check", target), Map.of());

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output()).contains("RESULT example=digits ranks=2");
        assertGpuCheckRuns(target);
    }

    /** Here, not in the bare root: it takes grep, sed and awk. On a machine with a GPU it may take minutes and pass. */
    private static void assertGpuCheckRuns(String bundle) {
        Job job = Job.run(List.of(bundle + "/bin/gpu-check.sh", "--only", "G1"), Map.of());

        assertThat(job.output()).contains("| JavaCPP cuda | 13.", "RESULT gpu_check=");
        assertThat(job.exitCode()).as(job.output()).isIn(0, 2);
        assertThat(Path.of(bundle, "bin", "gpu", "calls.c")).exists();
    }

    @Test
    void aFolderThatIsThereIsLeftAlone() {
        Job job = Job.run(List.of(SCRIPT.toString(), folder.toString()), Map.of());

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output()).contains(folder + " is there already");
        assertThat(folder).isEmptyDirectory();
    }
}
