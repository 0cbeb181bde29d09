package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Capabilities;
import io.hvd.Hvd;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BuildCheckTest {
    private static final BuildCheck WITHOUT_JAR =
            new BuildCheck("Open MPI 4.1.4, /usr/bin/mpirun", "", "needs 4.1.4, found 3.1.6", 0, 0, false);

    @Test
    void mpirunAloneIsNoWayForTensors() {
        assertThat(WITHOUT_JAR.text("1"))
                .contains(
                        "[X] MPI (Open MPI 4.1.4, /usr/bin/mpirun)",
                        "[ ] MPI (needs 4.1.4, found 3.1.6)",
                        "mpi.jar   none that fits");
    }

    @ParameterizedTest
    @CsvSource({"21805, 2, [X] NCCL (version 21805)", "0, 2, [ ] NCCL (not usable)", "0, 0, [ ] NCCL (no GPU)"})
    void ncclIsTickedWhereItWorksAndNotWhereItsClassesAre(int version, int gpus, String line) {
        assertThat(new BuildCheck("", "", "", version, gpus, true).text("1")).contains(line);
    }

    @Test
    void theFactsAreThoseOfTheCapabilities() {
        BuildCheck found = BuildCheck.look(System.getenv());
        Capabilities here = Hvd.capabilities();

        assertThat(found.mpiObstacle().isEmpty()).as(found.mpiObstacle()).isEqualTo(here.mpiBuilt());
        assertThat(found.nccl()).isEqualTo(here.ncclBuilt());
        assertThat(found.gpus() > 0).isEqualTo(here.cudaBuilt());
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
