package io.hvd.examples.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.examples.TrainHere;
import io.hvd.examples.TrainJar;
import io.hvd.testing.Job;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIf;

/** The example on a machine as it is. */
class CudaMlpWithoutGpuIT {
    static boolean driverIsLoaded() {
        return Files.exists(Path.of("/dev/nvidiactl"));
    }

    @Test
    @DisabledIf("driverIsLoaded")
    void withoutAGpuOneLineSaysWhatIsMissing() {
        Job job = TrainJar.mpirun(2, "cuda-mlp");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(2);
        assertThat(job.lines("cuda-mlp: rank 0 on "))
                .hasSize(1)
                .first()
                .asString()
                .contains("has no GPU", "libcuda.so.1");
        assertThat(job.output()).doesNotContain("\tat ");
    }

    @Test
    void itsRanksAreNoThreads() throws Exception {
        TrainHere refused = TrainHere.run("cuda-mlp", "--threads", "2");

        assertThat(refused.exitCode()).as(refused.output()).isEqualTo(2);
        assertThat(refused.output())
                .contains("--threads is refused", "each rank needs a process with a GPU of its own");
    }
}
