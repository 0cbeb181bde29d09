package io.hvd.job;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What prepares libraries for a rank runs while MPI starts, and init waits for it on all ranks. */
class StartupHookIT {

    @Test
    void mpiStartsWhileAHookRuns() {
        Job job = start("-D" + WaitingHook.WAITS + "=true");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("MPI starts beside the hook")).hasSize(2);
        assertThat(job.lines("has joined")).hasSize(2);
    }

    @Test
    void aHookThatFailsOnOneRankIsNamedOnAllRanks() {
        Job job = start("-D" + WaitingHook.FAILING_RANK + "=1");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(3);
        assertThat(job.lines("has joined")).isEmpty();
        assertThat(job.lines("refused: "))
                .as(job.output())
                .hasSize(2)
                .allSatisfy(line ->
                        assertThat(line).contains("rank 1 (", "could not be prepared", "no library for this rank"));
    }

    private static Job start(String flag) {
        return Job.horovodrun(2, Map.of("JDK_JAVA_OPTIONS", flag), Job.program(StartupHookProgram.class));
    }
}
