package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.examples.TrainHere;
import io.hvd.examples.TrainJar;
import io.hvd.testing.Job;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIf;

/** The flags of gpu-check, where there is no GPU to use them on. */
class GpuCheckFlagsIT {
    private static final int NOT_RUN = 2;

    static boolean driverIsLoaded() {
        return Files.exists(Path.of("/dev/nvidiactl"));
    }

    @Test
    @DisabledIf("driverIsLoaded")
    void onlyTheNamedChecksHaveALineBelowTheTableOfVersions() {
        Job job = TrainJar.alone("gpu-check", "--only", "G4,G3");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(NOT_RUN);
        assertThat(job.lines("CHECK "))
                .hasSize(2)
                .allMatch(line -> line.contains(" not-run no GPU: "))
                .anyMatch(line -> line.startsWith("CHECK G3 "))
                .anyMatch(line -> line.startsWith("CHECK G4 "));
        assertThat(job.output()).containsSubsequence("JavaCPP cuda ", "CHECK ", "RESULT gpu_check=not-run ");
    }

    @Test
    @DisabledIf("driverIsLoaded")
    void theVersionsAreOneObjectAndNoCheckIsMade() {
        Job job = TrainJar.alone("gpu-check", "--versions", "json");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(NOT_RUN);
        assertThat(job.lines("{"))
                .singleElement()
                .asString()
                .startsWith("{\"gpus\":0,\"nccl\":0,\"obstacle\":\"no GPU: ")
                .endsWith("]}");
        assertThat(job.output()).doesNotContain("CHECK", "RESULT");
    }

    @Test
    void whatIsNoCheckOrNoFormIsRefused() throws Exception {
        assertThat(TrainHere.run("gpu-check", "--only", "G8").output()).contains("[G1, G2, G3, G4, G7, G9]", "\"G8\"");
        assertThat(TrainHere.run("gpu-check", "--versions", "xml").output())
                .contains("\"table\" or \"json\"", "\"xml\"");
        assertThat(TrainHere.run("gpu-check", "--cpu").output()).contains("--cpu goes with --only G7 or G9");
    }
}
