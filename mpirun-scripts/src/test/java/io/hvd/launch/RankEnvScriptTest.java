package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import io.hvd.testing.Mpirun;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** mpirun-scripts/rank-env.sh with what the launchers set, as their manuals and real jobs say. */
final class RankEnvScriptTest {

    private static final Path SCRIPT =
            Path.of("../mpirun-scripts/rank-env.sh").toAbsolutePath().normalize();

    private record Outcome(int exitCode, String output) {
        Map<String, String> variables() {
            Map<String, String> variables = new TreeMap<>();
            output.lines()
                    .map(line -> line.split("=", 2))
                    .filter(parts -> parts.length == 2
                            && parts[0].matches("(RANK|WORLD_SIZE|LOCAL_.*|GROUP_RANK|MASTER_.*|TORCHELASTIC_.*)"))
                    .forEach(parts -> variables.put(parts[0], parts[1]));
            return variables;
        }
    }

    @Test
    void underOpenMpiOnOneHost() throws Exception {
        assertThat(run(ompi(2, 4, 2, 4), "env").variables())
                .containsExactlyInAnyOrderEntriesOf(Map.of(
                        "RANK", "2",
                        "WORLD_SIZE", "4",
                        "LOCAL_RANK", "2",
                        "LOCAL_WORLD_SIZE", "4",
                        "GROUP_RANK", "0",
                        "MASTER_ADDR", "127.0.0.1",
                        "MASTER_PORT", "29500",
                        "TORCHELASTIC_RUN_ID", "none",
                        "TORCHELASTIC_RESTART_COUNT", "0",
                        "TORCHELASTIC_MAX_RESTARTS", "0"));
    }

    @Test
    void onSeveralHostsTheHostIsCountedWhereAllHaveEquallyMany() throws Exception {
        assertThat(run(ompi(5, 6, 1, 2), "env").variables())
                .containsEntry("GROUP_RANK", "2")
                .doesNotContainKey("MASTER_ADDR");
        assertThat(run(ompi(4, 5, 1, 2), "env").variables()).doesNotContainKey("GROUP_RANK");
        assertThat(run(ompi(2, 4, 1, 2), "env").variables())
                .as("ranks go around the hosts")
                .doesNotContainKey("GROUP_RANK");
    }

    @Test
    void underSrunAndUnderHydra() throws Exception {
        Map<String, String> srun = Map.of(
                "SLURM_JOB_ID", "7",
                "SLURM_STEP_ID", "0",
                "SLURM_PROCID", "3",
                "SLURM_STEP_NUM_TASKS", "4",
                "SLURM_LOCALID", "1",
                "SLURM_NODEID", "1",
                "SLURM_STEP_TASKS_PER_NODE", "2(x2)");
        assertThat(run(srun, "env").variables())
                .containsEntry("RANK", "3")
                .containsEntry("WORLD_SIZE", "4")
                .containsEntry("LOCAL_RANK", "1")
                .containsEntry("LOCAL_WORLD_SIZE", "2")
                .containsEntry("GROUP_RANK", "1")
                .containsEntry("TORCHELASTIC_RUN_ID", "7");
        Map<String, String> hydra =
                Map.of("PMI_RANK", "1", "PMI_SIZE", "2", "MPI_LOCALRANKID", "1", "MPI_LOCALNRANKS", "2");
        assertThat(run(hydra, "env").variables())
                .containsEntry("RANK", "1")
                .containsEntry("LOCAL_WORLD_SIZE", "2")
                .containsEntry("MASTER_ADDR", "127.0.0.1");
    }

    @Test
    void underHorovodrunWithoutMpiAlsoInsideASlurmJob() throws Exception {
        Map<String, String> gloo = Map.of(
                "HOROVOD_RANK", "3",
                "HOROVOD_SIZE", "4",
                "HOROVOD_LOCAL_RANK", "1",
                "HOROVOD_LOCAL_SIZE", "2",
                "SLURM_JOB_ID", "7",
                "SLURM_STEP_ID", "0",
                "SLURM_PROCID", "0",
                "SLURM_STEP_TASKS_PER_NODE", "1");
        assertThat(run(gloo, "env").variables())
                .containsEntry("RANK", "3")
                .containsEntry("WORLD_SIZE", "4")
                .containsEntry("LOCAL_RANK", "1")
                .containsEntry("LOCAL_WORLD_SIZE", "2")
                .containsEntry("GROUP_RANK", "1")
                .doesNotContainKey("MASTER_ADDR");
    }

    @Test
    void whereTheUserHasNamedAPlaceToMeetItStays() throws Exception {
        Map<String, String> mine = new TreeMap<>(ompi(0, 2, 0, 2));
        mine.putAll(Map.of("MASTER_ADDR", "n1", "MASTER_PORT", "4711"));

        assertThat(run(mine, "env").variables())
                .containsEntry("MASTER_ADDR", "n1")
                .containsEntry("MASTER_PORT", "4711");
    }

    @Test
    void withoutALauncherOrACommandNothingIsStarted() throws Exception {
        Outcome alone = run(Map.of("SLURM_PROCID", "0"), "echo", "started");
        assertThat(alone.exitCode()).isEqualTo(2);
        assertThat(alone.output()).contains("neither mpirun nor srun", "mpirun -np 4");
        assertThat(alone.output().lines()).doesNotContain("started");
        assertThat(run(ompi(0, 1, 0, 1)).exitCode()).isEqualTo(2);
    }

    @Test
    void wordsAndExitCodeAreTheCommandsOwn() throws Exception {
        Outcome outcome = run(ompi(0, 1, 0, 1), "sh", "-c", "printf '<%s>' \"$@\"; exit 7", "x", "a b", "$(id)", "'");

        assertThat(outcome.exitCode()).isEqualTo(7);
        assertThat(outcome.output()).isEqualTo("<a b><$(id)><'>");
    }

    @Test
    void underRealMpirunEveryRankHasItsOwn() {
        List<String> command = new ArrayList<>(Mpirun.command(2));
        command.addAll(List.of(SCRIPT.toString(), "sh", "-c", "echo \"rank $RANK of $WORLD_SIZE at $MASTER_ADDR\""));

        Job job = Job.run(command, Map.of());

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("rank "))
                .containsExactlyInAnyOrder("rank 0 of 2 at 127.0.0.1", "rank 1 of 2 at 127.0.0.1");
    }

    private static Map<String, String> ompi(int rank, int size, int localRank, int localSize) {
        return Map.of(
                "OMPI_COMM_WORLD_RANK", "" + rank,
                "OMPI_COMM_WORLD_SIZE", "" + size,
                "OMPI_COMM_WORLD_LOCAL_RANK", "" + localRank,
                "OMPI_COMM_WORLD_LOCAL_SIZE", "" + localSize);
    }

    private static Outcome run(Map<String, String> environment, String... command)
            throws IOException, InterruptedException {
        List<String> words = new ArrayList<>(List.of(SCRIPT.toString()));
        words.addAll(Arrays.asList(command));
        ProcessBuilder builder = new ProcessBuilder(words).redirectErrorStream(true);
        builder.environment().clear();
        builder.environment().put("PATH", System.getenv("PATH"));
        builder.environment().putAll(environment);
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Outcome(process.waitFor(), output);
    }
}
