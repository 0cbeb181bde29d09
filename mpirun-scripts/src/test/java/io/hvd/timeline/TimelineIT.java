package io.hvd.timeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The timeline of four ranks under real mpirun, one of them late on purpose. */
class TimelineIT {
    private static final double HOUR_MICROS = 3.6e9;

    private static final int RANKS = 4;

    @TempDir
    private static Path folder;

    private static Job job;
    private static TraceFile trace;

    @BeforeAll
    static void run() throws IOException {
        Path file = folder.resolve("four.json");
        job = job(file, "whole");
        assertThat(job.exitCode()).as(job.output()).isZero();
        trace = TraceFile.read(file);
    }

    private static Job job(Path file, String how) throws IOException {
        Map<String, String> environment = Map.of(
                "HOROVOD_TIMELINE",
                file.toString(),
                "HOROVOD_TIMELINE_MARK_CYCLES",
                "1",
                "HVD_STATIC_PLAN_STEPS",
                "0",
                "HVD_SHARED_MEMORY",
                "0");
        Path steps = Files.createTempDirectory(folder, "steps");
        return Job.horovodrun(RANKS, environment, TimelineProgram.class, how, steps.toString());
    }

    @Test
    void theFileHasTheEventsOfAllRanks() {
        assertThat(trace.ranks()).containsExactly(0, 1, 2, 3);
        assertThat(trace.names())
                .contains("NEGOTIATE_ALLREDUCE", "0", "1", "2", "3", "ALLREDUCE", "MPI_ALLREDUCE", "QUEUE")
                .contains("MEMCPY_IN_FUSION_BUFFER", "MEMCPY_OUT_FUSION_BUFFER", "SYNCHRONIZE", "CYCLE_START");
        assertThat(trace.runningBackwards()).isEmpty();
        // Every rank runs every operation to its end.
        assertThat(trace.named("ALLREDUCE")
                        .filter(event -> TraceFile.string(event, "ph").equals("E")))
                .hasSize(RANKS * (TimelineProgram.STEPS * 4 + 1));
    }

    /** 8.3, and the slices of which reductions consist that MPI's Java bindings cannot do. */
    @Test
    void everyOperationShowsTheMpiCallsThatItConsistsOf() {
        assertThat(trace.nesting())
                .contains(
                        "MPI_ALLREDUCE in ALLREDUCE",
                        "MPI_BCAST in BROADCAST",
                        "MPI_ALLGATHER in ALLGATHER",
                        "MPI_ALLTOALL in ALLTOALL",
                        "MPI_ALLTOALL in REDUCESCATTER",
                        "REDUCE in REDUCESCATTER",
                        "MPI_GATHER in REDUCE",
                        "MPI_GATHER in GATHER",
                        "MPI_SCATTER in SCATTER",
                        "MPI_SEND in SEND",
                        "MPI_RECV in RECEIVE",
                        "MPI_ALLTOALL in ALLREDUCE",
                        "REDUCE in ALLREDUCE",
                        "MPI_ALLGATHER in ALLREDUCE");
    }

    /** No rank can leave a step before all have entered it, however slow the machine is: so their clocks agree. */
    @Test
    void aStepEndsOnNoRankBeforeItHasBegunOnAll() {
        for (int number = 0; number < TimelineProgram.STEPS; number++) {
            String step = "STEP " + (number + 1);
            double lastBegin = trace.named(step)
                    .mapToDouble(event -> TraceFile.micros(event, "ts"))
                    .max()
                    .orElseThrow();
            double firstEnd =
                    trace.named(step).mapToDouble(TimelineIT::end).min().orElseThrow();
            assertThat(firstEnd).as(step).isGreaterThanOrEqualTo(lastBegin);
            assertThat(firstEnd - lastBegin).as(step).isLessThan(HOUR_MICROS);
        }
    }

    private static double end(com.google.gson.JsonObject event) {
        return TraceFile.micros(event, "ts") + TraceFile.micros(event, "dur");
    }

    @Test
    void theVerdictNamesTheLateRank() {
        assertThat(trace.verdict()).anyMatch(line -> line.matches("40 steps on 4 ranks, .*"));
        assertThat(trace.verdict())
                .anyMatch(line -> line.startsWith("rank " + TimelineProgram.LATE_RANK + " is late in ")
                        && Integer.parseInt(line.split(" ")[5]) > TimelineProgram.STEPS / 2);
        assertThat(trace.verdict()).anyMatch(line -> line.matches("rank 0: .* waiting \\(for rank 2 .*"));
        assertThat(job.output()).contains("hvd timeline ", "is late in");
        assertThat(job.lines("steps on 4 ranks")).hasSize(1);
    }

    @Test
    void afterKillingRankZeroTheFileParses() throws IOException {
        Path file = folder.resolve("killed.json");

        Job killed = job(file, "killed");

        assertThat(killed.exitCode()).as(killed.output()).isNotZero();
        TraceFile rest = TraceFile.read(file);
        assertThat(rest.ranks()).containsExactly(0, 1, 2, 3);
        assertThat(rest.named("ALLREDUCE")).hasSizeGreaterThan(RANKS);
        assertThat(rest.verdict()).isEmpty();
    }

    @Test
    void aFileThatCannotBeOpenedIsLoggedWithPathAndCauseAndTheJobGoesOn() throws IOException {
        Path file = folder.resolve("no/such/folder.json");

        Job job = job(file, "whole");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("cannot be written")).singleElement().asString().contains(file.toString(), "NoSuchFile");
    }
}
