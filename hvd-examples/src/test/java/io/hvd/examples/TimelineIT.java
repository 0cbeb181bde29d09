package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import io.hvd.timeline.TraceFile;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A real training whose steps are marked by the optimizer. */
class TimelineIT {
    private static final int RANKS = 2;
    private static final int STEPS = 12;

    @Test
    void aTrainingOnTwoRanksLeavesATimelineAndAVerdict(@TempDir Path folder) {
        Path file = folder.resolve("digits.json");

        Job job = TrainJar.horovodrunWith(
                "HOROVOD_TIMELINE", file.toString(), RANKS, "digits", "--max-steps", String.valueOf(STEPS));

        assertThat(job.exitCode()).as(job.output()).isZero();
        TraceFile trace = TraceFile.read(file);
        assertThat(trace.ranks()).containsExactly(0, 1);
        assertThat(trace.names()).contains("ALLREDUCE", "SHM_ALLREDUCE", "NEGOTIATE_ALLREDUCE", "SYNCHRONIZE");
        assertThat(trace.runningBackwards()).isEmpty();
        assertThat(trace.named("thread_name")
                        .map(event -> event.getAsJsonObject("args").get("name").getAsString()))
                .anyMatch(name -> name.startsWith("gradient."));
        // The first step has no beginning that is known.
        assertThat(trace.verdict().get(0)).startsWith(STEPS - 1 + " steps on 2 ranks");
        assertThat(job.output())
                .contains("hvd timeline " + file, STEPS - 1 + " steps on 2 ranks", "exposed communication");
    }
}
