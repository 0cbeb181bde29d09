package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIf;
import org.junit.jupiter.api.io.TempDir;

/** gpu-check.sh in this checkout, as it is built, on a machine without a GPU. */
class GpuCheckScriptIT {
    private static final Path SCRIPT = Path.of("..", "mpirun-scripts", "gpu-check.sh");
    private static final String NO_GPU = " | not-run | no GPU: no NVIDIA driver is loaded ";

    @TempDir
    Path folder;

    static boolean driverIsLoaded() {
        return Files.exists(Path.of("/dev/nvidiactl"));
    }

    @Test
    @DisabledIf("driverIsLoaded")
    void withoutAGpuEveryCheckIsNotRunWithTheReasonAndTheRecordHasTheDocumentedForm() throws IOException {
        Path record = folder.resolve("record.md");

        Job job = Job.run(
                List.of(SCRIPT.toString(), "--out", record.toString(), "--only", "G1,G4"),
                Map.of("JAVA_HOME", System.getProperty("java.home")));

        assertThat(job.exitCode()).as(job.output()).isEqualTo(2);
        assertThat(job.lines("RESULT ").get(0))
                .startsWith("RESULT gpu_check=not-run passed=0 failed=0 not_run=2 left=0 ");
        List<String> written = Files.readAllLines(record);
        assertThat(written).filteredOn(line -> line.contains(NO_GPU)).hasSize(2);
        assertThat(written).anyMatch(line -> line.startsWith("| JCuda | 12."));
        assertThat(form(written)).isEqualTo(form(documented()));
    }

    /** The record that docs/records/gpu.md shows. */
    private static List<String> documented() throws IOException {
        String page = Files.readString(Path.of("..", "docs", "records", "gpu.md"));
        int begin = page.indexOf("````markdown\n") + "````markdown\n".length();
        return page.substring(begin, page.indexOf("\n````\n", begin)).lines().toList();
    }

    /** Lines without what differs from machine to machine: dates, figures, and all but the first cell of a row. */
    private static List<String> form(List<String> record) {
        return record.stream()
                .map(line -> line.startsWith("|") && !line.startsWith("| check")
                        ? line.substring(0, line.indexOf('|', 1) + 1)
                        : line.replaceAll("`[^`]+`", "").replaceAll("\\d+", "N"))
                .toList();
    }
}
