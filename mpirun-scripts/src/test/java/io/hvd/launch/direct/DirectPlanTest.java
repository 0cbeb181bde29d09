package io.hvd.launch.direct;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.launch.hosts.MachineFacts;
import io.hvd.launch.line.LaunchFacts;
import io.hvd.launch.mpi.MpiVersion;
import io.hvd.launch.options.LaunchOptions;
import io.hvd.launch.words.Argument;
import io.hvd.launch.words.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class DirectPlanTest {

    private static final Map<String, String> SHELL = Map.of(
            "PATH",
            "/usr/bin:/bin",
            "ODD",
            "a\nb",
            "HOROVOD_SECRET_KEY",
            "hush",
            "OMPI_COMM_WORLD_RANK",
            "7",
            "PMIX_RANK",
            "7",
            "SLURM_PROCID",
            "7");
    private static final Map<String, String> OF_JOB = Map.of("HVD_RENDEZVOUS", "launcher=c0ffee@10.0.0.1/29400");

    private static DirectPlan plan(String... words) {
        return plan(SHELL, words);
    }

    static DirectPlan plan(Map<String, String> environment, String... words) {
        var machine = new MachineFacts(
                "here",
                4,
                1000,
                false,
                Optional.empty(),
                OptionalLong.of(1L << 30),
                Set.of("here", "localhost"),
                Set.of("lo", "eth0"),
                environment);
        var job = new LaunchFacts(LaunchOptions.parse(environment, words), machine, MpiVersion.NONE);
        return DirectPlan.of(job, Argument.note(""), Optional.empty());
    }

    @Test
    void hostsAreFilledInTheirOrderAndEveryRankKnowsItsPlace() {
        List<PlannedRank> ranks =
                plan("-np", "6", "-H", "here:3,b:1,c:4", "true").ranks();

        assertThat(ranks).extracting(PlannedRank::host).containsExactly("here", "here", "here", "b", "c", "c");
        assertThat(ranks).extracting(PlannedRank::here).containsExactly(true, true, true, false, false, false);
        assertThat(ranks).extracting(PlannedRank::localRank).containsExactly(0, 1, 2, 0, 0, 1);
        assertThat(ranks).extracting(PlannedRank::localSize).containsExactly(3, 3, 3, 1, 2, 2);
        assertThat(ranks).extracting(PlannedRank::crossRank).containsExactly(0, 0, 0, 1, 2, 1);
        assertThat(ranks).extracting(PlannedRank::crossSize).containsExactly(3, 2, 1, 3, 3, 2);
        assertThat(ranks.get(5).variables())
                .containsEntry("HOROVOD_RANK", "5")
                .containsEntry("HOROVOD_SIZE", "6")
                .containsEntry("HOROVOD_LOCAL_RANK", "1")
                .containsEntry("HOROVOD_LOCAL_SIZE", "2")
                .containsEntry("HOROVOD_CROSS_RANK", "1")
                .containsEntry("HOROVOD_CROSS_SIZE", "2")
                .containsEntry("HOROVOD_HOSTNAME", "c");
    }

    @Test
    void withoutHostsOnTheLineSlurmOrPbsNamesThem(@TempDir Path folder) throws IOException {
        Map<String, String> slurm = Map.of(
                "SLURM_JOB_ID",
                "5",
                "SLURM_JOB_NODELIST",
                "n[1-2]",
                "SLURM_TASKS_PER_NODE",
                "2,1",
                "SLURM_NTASKS",
                "3");
        Path file = Files.writeString(folder.resolve("nodes"), "n1\nn1\nn2\n");
        Map<String, String> pbs =
                Map.of("PBS_NODEFILE", file.toString(), "PBS_ENVIRONMENT", "PBS_BATCH", "PBS_JOBID", "5.server");

        for (List<PlannedRank> ranks : List.of(
                plan(slurm, "true").ranks(), plan(pbs, "-np", "3", "true").ranks())) {
            assertThat(ranks).extracting(PlannedRank::host).containsExactly("n1", "n1", "n2");
            assertThat(ranks).extracting(PlannedRank::here).containsOnly(false);
            assertThat(ranks).extracting(PlannedRank::localRank).containsExactly(0, 1, 0);
        }
    }

    /** As an operator of Kubernetes sets it, whatever Open MPI the image has. */
    @ParameterizedTest
    @ValueSource(strings = {"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"})
    void theDefaultHostfileOfAnyOpenMpiNamesThem(String variable, @TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("hosts"), "w0 slots=2\nw1 slots=1\n");

        List<PlannedRank> ranks =
                plan(Map.of(variable, file.toString()), "-np", "3", "true").ranks();

        assertThat(ranks).extracting(PlannedRank::host).containsExactly("w0", "w0", "w1");
    }

    @Test
    void allNamesOfThisMachineAreOneHost() {
        List<PlannedRank> ranks =
                plan("-np", "3", "-H", "localhost:1,b:1,here:1", "true").ranks();

        assertThat(ranks).extracting(PlannedRank::host).containsExactly("here", "here", "b");
        assertThat(ranks).extracting(PlannedRank::localSize).containsExactly(2, 2, 1);
    }

    @Test
    void withoutHostsAllRanksAreHere() {
        assertThat(plan("-np", "3", "true").ranks())
                .hasSize(3)
                .allMatch(PlannedRank::here)
                .allMatch(rank -> rank.crossSize() == 1);
    }

    @Test
    void aRankOnAnotherHostGetsTheVariablesWithoutASecretAndWithoutThePlaceOfAnotherJob() {
        DirectPlan plan = plan("-np", "2", "-H", "here:1,b:1", "--cycle-time-ms", "3", "true");

        Map<String, String> here = plan.environment(plan.ranks().get(0), OF_JOB);
        Map<String, String> there = plan.environment(plan.ranks().get(1), OF_JOB);

        assertThat(List.of(here, there))
                .allSatisfy(environment -> assertThat(environment)
                        .containsEntry("HOROVOD_CONTROLLER", "gloo")
                        .containsEntry("HOROVOD_CPU_OPERATIONS", "gloo")
                        .doesNotContainKey("HVD_BACKEND")
                        .containsEntry("HOROVOD_CYCLE_TIME", "3")
                        .containsEntry("ODD", "a\nb")
                        .containsAllEntriesOf(OF_JOB)
                        .doesNotContainKeys("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"));
        assertThat(here).containsEntry("HOROVOD_SECRET_KEY", "hush").containsEntry("HOROVOD_RANK", "0");
        assertThat(there).doesNotContainKey("HOROVOD_SECRET_KEY").containsEntry("HOROVOD_RANK", "1");
    }

    @Test
    void theLineOfSshHasPortKeyAndHostAndNothingOfTheEnvironmentOrTheCommand() {
        DirectPlan plan =
                plan("-np", "2", "-H", "here:1,b:1", "-p", "2222", "-i", "/keys/id", "train.sh", "--token", "t0p");

        List<String> words = plan.words(plan.ranks().get(1));

        assertThat(words).containsSubsequence("ssh", "-o", "BatchMode=yes", "-p", "2222", "-i", "/keys/id", "b");
        assertThat(words.get(words.size() - 1))
                .startsWith("exec sh -c '")
                .doesNotContain("\n", "ODD", "t0p", "train.sh", "RENDEZVOUS");
        assertThat(plan.explained())
                .contains("rank 0: HOROVOD_RANK=0 ", "rank 1: ssh ", " b HOROVOD_RANK=1 ", " ODD ", "--token '***'")
                .doesNotContain("t0p", "hush", "RENDEZVOUS");
    }

    @Test
    void wordsForMpirunAreRefused() {
        assertThatThrownBy(() -> plan("-np", "2", "--mpi-args", "--report-bindings", "true"))
                .isInstanceOf(UsageException.class)
                .hasMessageContainingAll("needs-mpirun", "--mpi-args \"--report-bindings\"", "--mpi");
        assertThatThrownBy(() -> plan("-np", "2", "--binding-args", "--bind-to core", "true"))
                .hasMessageContainingAll("needs-mpirun", "--binding-args");
        assertThatThrownBy(() -> plan(Map.of("HVD_BACKEND", "mpi"), "-np", "2", "true"))
                .hasMessageContainingAll("needs-mpirun", "HVD_BACKEND=mpi");
        assertThatThrownBy(() -> plan(Map.of("HOROVOD_CPU_OPERATIONS", "MPI"), "-np", "2", "true"))
                .hasMessageContainingAll("needs-mpirun", "HOROVOD_CPU_OPERATIONS=MPI");
    }
}
