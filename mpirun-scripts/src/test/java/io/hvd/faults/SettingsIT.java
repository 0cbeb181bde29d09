package io.hvd.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.testing.Job;
import io.hvd.testing.Mpirun;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Settings that are wrong, or not the same on all ranks, end a job at init with the variable's name. */
class SettingsIT {
    @Test
    void aSettingThatDiffersIsNamedWithItsValuesAndRanks() {
        List<String> command = Mpirun.command(1);
        command.addAll(Job.program(FaultyProgram.class, "none", "-1"));
        command.addAll(List.of(":", "-np", "1", "-x", "HOROVOD_CACHE_CAPACITY=0", "-x", "HVD_STATIC_PLAN_STEPS=7"));
        command.addAll(Job.program(FaultyProgram.class, "none", "-1"));
        Job job = Job.run(command, Map.of());

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.lines("HOROVOD_CACHE_CAPACITY: absent on ranks {0}; \"0\" on ranks {1}")
                                .isEmpty()
                        && job.lines("HOROVOD_CACHE_CAPACITY: \"0\" on ranks {1}; absent on ranks {0}")
                                .isEmpty())
                .as(job.output())
                .isFalse();
        assertThat(job.output()).contains("HVD-308", "HVD_STATIC_PLAN_STEPS");
    }

    @ParameterizedTest
    @CsvSource({
        "HOROVOD_AUTOTUN, 1, HOROVOD_AUTOTUNE",
        "HOROVOD_CACHE_CAPACITY, many, many",
        "HOROVOD_STALL_CHECK_DISABLE, perhaps, perhaps",
        "HOROVOD_CONTROLLER, nonsense, gloo"
    })
    void aBadSettingEndsTheProgramWithTheVariableAndWhatWouldBeRight(String variable, String value, String fact) {
        Job job = Job.run(Job.program(FaultyProgram.class, "none", "-1"), Map.of(variable, value));

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.output()).contains("HVD-103", variable, fact);
    }

    /** It is none of the job's settings that horovodrun would look at itself. */
    @Test
    void horovodrunShowsABadSettingAsTheFirstFailure() {
        Job job = Job.horovodrun(2, Map.of("HVD_FLIGHT_RECORDER", "few"), FaultyProgram.class, "none", "-1");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.output().substring(job.output().lastIndexOf("first failure")))
                .contains("HVD-103", "HVD_FLIGHT_RECORDER", "few");
    }

    @ParameterizedTest
    @CsvSource({"auto", "mpi"})
    void aProcessThatTorchrunStartedDoesNotTrainByItself(String backend) {
        Map<String, String> torchrun = Map.of("RANK", "1", "WORLD_SIZE", "4", "HVD_BACKEND", backend);
        Job job = Job.run(Job.program(FaultyProgram.class, "none", "-1"), torchrun);

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.output()).contains("HVD-102", "RANK=1 of WORLD_SIZE=4", "mpirun -np 4 COMMAND");
    }

    @Test
    void itDoesWhereThatIsAskedForAndItIsARankWhereMpirunStartedIt() {
        Map<String, String> alone = Map.of("RANK", "1", "WORLD_SIZE", "4", "HVD_BACKEND", "local");
        Map<String, String> leftOver = Map.of("RANK", "1", "WORLD_SIZE", "4");

        Job local = Job.run(Job.program(FaultyProgram.class, "none", "-1"), alone);
        assertThat(local.exitCode()).as(local.output()).isZero();
        assertThat(local.output()).contains("1 rank(s) on");
        Job ranks = Job.horovodrun(2, leftOver, FaultyProgram.class, "none", "-1");
        assertThat(ranks.exitCode()).as(ranks.output()).isZero();
        assertThat(ranks.output()).contains("2 rank(s) on");
    }

    @Test
    void ranksThatAreThreadsSayWhatHasNoEffectAndObeyTheLogLevel() {
        Map<String, String> idle = Map.of("HOROVOD_TORUS_ALLREDUCE", "1");
        Map<String, String> quiet = Map.of("HOROVOD_TORUS_ALLREDUCE", "1", "HOROVOD_LOG_LEVEL", "error");

        assertThat(Job.run(Job.program(ThreadsProgram.class), idle).lines("HOROVOD_TORUS_ALLREDUCE"))
                .hasSize(1);
        assertThat(Job.run(Job.program(ThreadsProgram.class), quiet).output()).doesNotContain("TORUS");
    }

    /** Two ranks in one JVM. */
    public static final class ThreadsProgram {
        public static void main(String[] args) {
            Hvd.spawn(2, hvd -> null);
        }
    }

    /** MPI says itself which level it has; every life of the job uses it. LifecycleIT has the usual one. */
    @Test
    void theJobRunsOnTheThreadLevelThatItAskedFor() {
        Job job = Job.horovodrun(2, Map.of("HOROVOD_MPI_THREADS_DISABLE", "1"), LifecycleProgram.class, "again");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("THREE LIVES")).hasSize(2);
        assertThat(job.lines("rank(s) on")).hasSize(3).allMatch(line -> line.contains(", MPI_THREAD_SINGLE)"));
    }

    @Test
    void everyRankSaysWhereItRunsIfAskedAndInASlurmJob() {
        Job asked = Job.horovodrun(2, Map.of("HVD_SHOW_RANKS", "1"), FaultyProgram.class, "none", "-1");
        Job slurm = Job.run(Job.program(FaultyProgram.class, "none", "-1"), Map.of("SLURM_JOB_ID", "7"));

        assertThat(asked.lines(": local rank 0 of 2, ")).as(asked.output()).hasSize(1);
        assertThat(asked.lines("rank 1 of 2 on ")).singleElement().asString().contains(": local rank 1 of 2, ", "pid ");
        assertThat(slurm.lines("rank 0 of 1 on ")).singleElement().asString().endsWith(", Slurm job 7");
    }

    /** Also, true means on for every switch. */
    @Test
    void autotuneEndsWithTheSameSettingsOnAllRanksWithALineAndWithALog(@TempDir Path folder) throws IOException {
        Path log = folder.resolve("tune.csv");
        Map<String, String> settings = Map.of(
                "HOROVOD_AUTOTUNE", "true",
                "HOROVOD_AUTOTUNE_LOG", log.toString(),
                "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "2",
                "HVD_AUTOTUNE_SAMPLE_MILLIS", "1",
                "HVD_STATIC_PLAN_STEPS", "2");
        Job job = Job.horovodrun(2, settings, TuningProgram.class);

        assertThat(job.exitCode()).as(job.output()).isZero();
        List<String> ranks = job.lines("TUNED ").stream()
                .map(line -> line.substring(line.indexOf("TUNED ")))
                .toList();
        assertThat(ranks).as(job.output()).hasSize(2);
        assertThat(ranks.get(0)).isEqualTo(ranks.get(1)).contains("autotune: ", "HOROVOD_FUSION_THRESHOLD=");
        List<String> lines = Files.readAllLines(log);
        String[] last = lines.get(lines.size() - 1).split(",");
        assertThat(last[last.length - 1]).isEqualTo("best");
        long threshold = Math.round(Double.parseDouble(last[5]) * (1 << 20));
        assertThat(ranks.get(0))
                .startsWith("TUNED {HOROVOD_CYCLE_TIME=" + last[4] + ", HOROVOD_FUSION_THRESHOLD=" + threshold
                        + ", HVD_BUCKET_BYTES=0}");
        assertThat(lines)
                .as("several thresholds were tried")
                .filteredOn(line -> line.endsWith(",search"))
                .hasSizeGreaterThan(10);
    }

    /** The tests log through slf4j-simple, as train.jar does. */
    @Test
    void theLogLevelDecidesWhetherTheLineAtTheStartIsShown() {
        Job loud = Job.horovodrun(1, Map.of("HOROVOD_LOG_LEVEL", "info"), FaultyProgram.class, "none", "-1");
        Job quiet = Job.horovodrun(1, Map.of("HOROVOD_LOG_LEVEL", "error"), FaultyProgram.class, "none", "-1");

        assertThat(loud.output()).contains("rank(s) on");
        assertThat(quiet.output()).doesNotContain("rank(s) on");
    }
}
