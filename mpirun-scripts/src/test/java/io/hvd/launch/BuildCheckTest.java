package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Capabilities;
import io.hvd.Hvd;
import io.hvd.transport.nccl.report.GpuReport;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BuildCheckTest {
    private static final BuildCheck WITHOUT_JAR =
            new BuildCheck("Open MPI 4.1.4, /usr/bin/mpirun", "", "needs 4.1.4, found 3.1.6", gpu(0, "no GPU"), false);

    @Test
    void mpirunAloneIsNoWayForTensors() {
        assertThat(WITHOUT_JAR.text("1"))
                .contains(
                        "[X] MPI (Open MPI 4.1.4, /usr/bin/mpirun)",
                        "[ ] MPI (needs 4.1.4, found 3.1.6)",
                        "[X] Gloo (hvd's own TCP and shared memory, without MPI)",
                        "mpi.jar   none that fits");
    }

    @ParameterizedTest
    @CsvSource({
        "21805, '', [X] NCCL (version 21805)",
        "0, NCCL did not load, [ ] NCCL (NCCL did not load)",
        "0, no GPU: no driver, [ ] NCCL (no GPU: no driver)"
    })
    void ncclIsTickedWhereItWorksAndElseTheReasonGiven(int version, String obstacle, String line) {
        assertThat(new BuildCheck("", "", "", gpu(version, obstacle), true).text("1"))
                .contains(line);
    }

    @Test
    void theTableOfGpuVersionsComesLast() {
        assertThat(WITHOUT_JAR.text("1")).endsWith("\n\nGPU\n  JCuda  12.6.0\n  GPU    missing: no driver\n");
    }

    private static GpuReport gpu(int nccl, String obstacle) {
        return new GpuReport(
                nccl > 0 ? 1 : 0,
                nccl,
                obstacle,
                List.of(new GpuReport.Row("JCuda", "12.6.0", ""), new GpuReport.Row("GPU", "", "no driver")));
    }

    @Test
    void theFactsAreThoseOfTheCapabilities() {
        BuildCheck found = BuildCheck.look(System.getenv());
        Capabilities here = Hvd.capabilities();

        assertThat(found.mpiObstacle().isEmpty()).as(found.mpiObstacle()).isEqualTo(here.mpiBuilt());
        assertThat(found.gpu().nccl()).isEqualTo(here.ncclBuilt());
        assertThat(found.gpu().gpus() > 0).isEqualTo(here.cudaBuilt());
        if (!here.cudaBuilt()) {
            assertThat(found.text("1")).contains("[ ] NCCL (no GPU: no NVIDIA driver is loaded");
        }
    }

    /** A file of that name in the local repository proves nothing; one that is named is the one that counts. */
    @Test
    void anMpiJarThatDoesNotFitIsNotTickedAndTheReasonGiven() {
        Map<String, String> environment = new HashMap<>(System.getenv());
        environment.put("HVD_MPI_JAR", "/nowhere/mpi.jar");

        BuildCheck found = BuildCheck.look(environment);

        assertThat(found.mpiJar()).isEmpty();
        assertThat(found.text("1")).containsPattern("\\[ ] MPI \\(\\[HVD-10[45]]");
    }
}
