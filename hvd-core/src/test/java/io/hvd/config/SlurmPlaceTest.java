package io.hvd.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class SlurmPlaceTest {
    private static final Map<String, String> SCRIPT = Map.of(
            "SLURM_JOB_ID",
            "7",
            "SLURM_PROCID",
            "0",
            "SLURM_LOCALID",
            "0",
            "SLURM_NTASKS",
            "4",
            "SLURM_CPUS_ON_NODE",
            "2");
    private static final Map<String, String> TASK =
            with(SCRIPT, "SLURM_STEP_ID", "0", "SLURM_PROCID", "2", "SLURM_STEP_NUM_TASKS", "4");

    @Test
    void outsideSlurmThereIsNoPlace() {
        assertThat(SlurmPlace.of(Map.of("PMIX_RANK", "1"))).isEmpty();
    }

    @Test
    void theShellOfABatchScriptIsNoTaskAlthoughItHasTheNumberOfOne() {
        assertThat(place(SCRIPT).task()).isEmpty();
        assertThat(place(SCRIPT).whyNotAlone()).isEmpty();
        assertThat(HvdConfig.from(SCRIPT).started().byLauncher()).isFalse();
    }

    @Test
    void aTaskThatIsNoRankIsToldHowToBecomeOne() {
        assertThat(HvdConfig.from(TASK).started().byLauncher()).isFalse();
        assertThat(place(TASK).whyNotAlone().orElseThrow())
                .contains("task 2 of the 4 of Slurm step 7.0", "srun --mpi=pmix", "HVD_BACKEND=local");
    }

    @Test
    void theOnlyTaskOfAStepMayBeAJobOfOneRank() {
        assertThat(place(with(TASK, "SLURM_STEP_NUM_TASKS", "1", "SLURM_PROCID", "0"))
                        .whyNotAlone())
                .isEmpty();
    }

    @Test
    void underPmixTheRankIsKnownBeforeMpiIs() {
        assertThat(HvdConfig.from(with(TASK, "PMIX_RANK", "2")).started().rank())
                .hasValue(2);
    }

    @Test
    void ranksOfMpirunInsideAJobAreNoTasksAlthoughTheyInheritTheVariablesOfItsHelpers() {
        assertThat(place(with(TASK, "OMPI_COMM_WORLD_RANK", "3")).task()).isEmpty();
    }

    @Test
    void anMpiThatMeansAnotherJobThanSlurmIsNamedWithBothNumbers() {
        assertThat(place(TASK).whyOtherJob(2, 4)).isEmpty();
        assertThat(place(TASK).whyOtherJob(0, 1).orElseThrow())
                .contains("rank 0 of 1", "Slurm step 7.0 says task 2 of 4");
        assertThat(place(TASK).whyOtherJob(1, 4).orElseThrow()).contains("rank 1 of 4");
        assertThat(place(SCRIPT).whyOtherJob(0, 1)).isEmpty();
    }

    @Test
    void whatTorchrunStartsWithinATaskIsOfTorchrunsJob() {
        HvdConfig config = HvdConfig.from(
                with(with(TASK, "RANK", "5", "WORLD_SIZE", "8"), "MASTER_ADDR", "node1", "MASTER_PORT", "29500"));

        assertThat(config.whyOtherJob(5, 8, List.of(0, 0, 0, 0, 1, 1, 1, 1), List.of("node1", "node2")))
                .isEmpty();
        assertThat(config.whyOtherJob(0, 1, List.of(0), List.of("node1")))
                .as("an MPI that knows of neither")
                .get()
                .asString()
                .contains("rank 0 of 1", "Slurm step 7.0 says task 2 of 4");
    }

    @Test
    void ranksThatShareProcessorsAreToldOfTheVariableThatSrunDoesNotSet() {
        assertThat(place(TASK).waitingAdvice(2).orElseThrow())
                .contains(
                        "2 ranks of Slurm step 7.0 share 2 processors",
                        "export OMPI_MCA_mpi_yield_when_idle=1",
                        "--cpus-per-task=2");
        assertThat(place(with(TASK, "SLURM_CPUS_ON_NODE", "4")).waitingAdvice(2))
                .isEmpty();
        assertThat(place(with(TASK, SlurmPlace.YIELD, "0")).waitingAdvice(2)).isEmpty();
        assertThat(place(TASK).waitingAdvice(1)).isEmpty();
        assertThat(place(SCRIPT).waitingAdvice(2))
                .as("mpirun sees to it itself")
                .isEmpty();
    }

    private static SlurmPlace place(Map<String, String> environment) {
        Optional<SlurmPlace> place = SlurmPlace.of(environment);
        return place.orElseThrow();
    }

    private static Map<String, String> with(Map<String, String> environment, String... more) {
        Map<String, String> all = new HashMap<>(environment);
        for (int i = 0; i < more.length; i += 2) {
            all.put(more[i], more[i + 1]);
        }
        return all;
    }
}
