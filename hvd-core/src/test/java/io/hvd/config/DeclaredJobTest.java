package io.hvd.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DeclaredJobTest {
    private static final List<Integer> ONE_NODE = List.of(0, 0);
    private static final List<String> ONE_HOST = List.of("n1", "n1");

    private static Optional<String> why(
            Map<String, String> environment, int processes, List<Integer> nodes, List<String> hosts) {
        return HvdConfig.from(environment).whyOtherJob(0, processes, nodes, hosts);
    }

    @Test
    void fewerProcessesThanHorovodrunWasToStartAreRefused() {
        assertThat(why(Map.of("HVD_DECLARED_JOB", "4 1 -np 4"), 2, ONE_NODE, ONE_HOST))
                .hasValueSatisfying(words -> assertThat(words)
                        .contains(
                                "-np 4",
                                "4 processes",
                                "has only 2",
                                "on n1",
                                "ranks 2 to 3 are missing",
                                "HVD_OPENMPI_HOME"));
    }

    @Test
    void theLastRankAloneMayBeMissing() {
        assertThat(why(Map.of("HVD_DECLARED_JOB", "3 1 -np 3"), 2, ONE_NODE, ONE_HOST))
                .hasValueSatisfying(words -> assertThat(words).contains("rank 2 is missing"));
    }

    @Test
    void fewerHostsThanWereNamedAreRefused() {
        assertThat(why(Map.of("HVD_DECLARED_JOB", "2 2 Slurm job 7 (a:1,b:1)"), 2, ONE_NODE, ONE_HOST))
                .hasValueSatisfying(words ->
                        assertThat(words).contains("Slurm job 7 (a:1,b:1)", "2 hosts at least", "on n1", "-H"));
        assertThat(why(Map.of("HVD_DECLARED_JOB", "2 2 -H a:1,b:1"), 2, List.of(0, 1), List.of("a", "b")))
                .isEmpty();
    }

    /** As where the mpirun of one Open MPI starts ranks with the library of another. */
    @ParameterizedTest
    @ValueSource(strings = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    void eachOfSeveralProcessesThatIsAloneWithItsMpiIsRefused(String name) {
        assertThat(why(Map.of(name, "4"), 1, List.of(0), List.of("n1")))
                .hasValueSatisfying(
                        words -> assertThat(words).contains(name + "=4", "4 processes", "has only 1", "same MPI"));
        assertThat(why(Map.of(name, "2"), 2, ONE_NODE, ONE_HOST)).isEmpty();
    }

    @Test
    void aJobThatIsAsLargeAsDeclaredOrLargerIsNot() {
        Map<String, String> environment = new HashMap<>(Map.of("HVD_DECLARED_JOB", "2 1 -np 2"));
        assertThat(why(environment, 2, ONE_NODE, ONE_HOST)).isEmpty();
        assertThat(why(environment, 4, List.of(0, 0, 1, 1), List.of("a", "a", "b", "b")))
                .isEmpty();
    }

    @Test
    void whoWantsJobsOfTheirOwnSaysSo() {
        assertThat(why(Map.of("OMPI_COMM_WORLD_SIZE", "4", "HVD_BACKEND", "local"), 1, List.of(0), List.of("n1")))
                .isEmpty();
    }

    @Test
    void anythingElseThanALaunchersWordsSaysNothing() {
        for (String text : List.of("", "4", "many 1 -np", "4 1 ")) {
            assertThat(why(Map.of("HVD_DECLARED_JOB", text), 1, List.of(0), List.of("n1")))
                    .isEmpty();
        }
    }

    @Test
    void whatSlurmSaysOfTheStepCountsFirst() {
        Map<String, String> environment = Map.of(
                "SLURM_JOB_ID", "7",
                "SLURM_STEP_ID", "0",
                "SLURM_PROCID", "1",
                "SLURM_STEP_NUM_TASKS", "4",
                "PMI_RANK", "1",
                "PMI_SIZE", "4");

        assertThat(why(environment, 1, List.of(0), List.of("n1")))
                .hasValueSatisfying(words -> assertThat(words).contains("Slurm step 7.0", "task 1 of 4"));
    }
}
