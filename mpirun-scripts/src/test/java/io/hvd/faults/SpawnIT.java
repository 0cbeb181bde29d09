package io.hvd.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** {@code Hvd.spawn} in processes that a launcher has started: one job, which begins and ends as one. */
class SpawnIT {
    private static Job run(int processes, String what) {
        return run(processes, Map.of("HOROVOD_DYNAMIC_PROCESS_SETS", "1"), what);
    }

    private static Job run(int processes, Map<String, String> environment, String what) {
        return Job.horovodrun(processes, environment, SpawnProgram.class, what);
    }

    private static List<String> places(Job job) {
        assertThat(job.exitCode()).as(job.output()).isZero();
        return job.lines("PLACE").stream()
                .map(line -> line.replaceFirst(".*PLACE ", ""))
                .sorted()
                .toList();
    }

    @Test
    void theThreadsOfAllProcessesAreRanksOfOneJob() {
        Job job = run(2, "places");
        assertThat(places(job))
                .containsExactly(
                        "process=0 rank=0 size=4 local=0/4 cross=0/1 sum=6",
                        "process=0 rank=1 size=4 local=1/4 cross=0/1 sum=6",
                        "process=1 rank=2 size=4 local=2/4 cross=0/1 sum=6",
                        "process=1 rank=3 size=4 local=3/4 cross=0/1 sum=6");
        assertThat(job.lines("4 rank(s)"))
                .singleElement()
                .asString()
                .contains("hybrid: 2 processes x 2 threads over mpi");
    }

    @Test
    void aProgramMaySpawnOneJobAfterTheOther() {
        assertThat(places(run(2, "again")))
                .hasSize(8)
                .allSatisfy(line -> assertThat(line).contains("size=4", "sum=6"));
    }

    @Test
    void oneProcessAloneNeedsNoMpi() {
        Job job = run(1, Map.of("HVD_MPI_JAR", "/no/such/mpi.jar"), "places");
        assertThat(places(job))
                .containsExactly(
                        "process=0 rank=0 size=2 local=0/2 cross=0/1 sum=1",
                        "process=0 rank=1 size=2 local=1/2 cross=0/1 sum=1");
    }

    @Test
    void processesThatAreToBeJobsOfTheirOwnAreSoWithTheLocalBackEnd() {
        assertThat(places(run(2, Map.of("HVD_BACKEND", "local"), "places")))
                .hasSize(4)
                .allSatisfy(line -> assertThat(line).contains("size=2", "sum=1"));
    }

    @Test
    void unlikeNumbersOfThreadsAreNamedWithProcessAndHost() {
        Job job = run(2, "unlike");
        assertThat(job.exitCode()).as(job.output()).isNotZero();
        assertThat(job.output())
                .contains(
                        "HVD-308", "expected 2, as process 0 on ", "but process 1 on ", " has 3", "HVD_BACKEND=local");
    }

    @Test
    void aThreadThatThrowsEndsAllProcessesWithItsCause() {
        Job job = run(2, NoLimits.SETTINGS, "throws");
        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.lines("hvd: FAILED"))
                .singleElement()
                .asString()
                .contains("rank 3 of 4", "IllegalStateException: shard 3 is empty");
        assertThat(job.lines("hvd: consequence on rank 0"))
                .isNotEmpty()
                .allSatisfy(line -> assertThat(line).contains("shard 3 is empty"));
        assertThat(job.lines("first failure: rank 3")).hasSize(1);
    }

    @Test
    void aThreadThatThrowsEndsRanksThatAreBusyElsewhereToo() {
        Job job = run(2, NoLimits.SETTINGS, "throws-at-work");
        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.lines("hvd: FAILED")).singleElement().asString().contains("rank 0 of 4", "shard 0 is empty");
    }

    @Test
    void aThreadThatExitsIsNamedAndEndsAllProcesses() {
        Job job = run(2, "exits");
        assertThat(job.exitCode()).as(job.output()).isEqualTo(7);
        assertThat(job.output()).contains("called System.exit", "SpawnProgram.trainUntilExit");
    }

    /** Each process has one thread for MPI, which would wait in one set for what the other process does in another. */
    @Test
    void setsAndTransfersThatLieAcrossEachOtherDoNotWaitForEachOther() {
        Job job = run(2, "crossing");
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("CROSSED")).hasSize(4);
    }

    @Test
    void aRankOfAJobCannotBecomeSeveral() {
        Job job = run(2, "inside-init");
        assertThat(job.exitCode()).as(job.output()).isNotZero();
        assertThat(job.output()).contains("HVD-202", "spawn of 2 ranks in a process that is part of a job already");
    }
}
