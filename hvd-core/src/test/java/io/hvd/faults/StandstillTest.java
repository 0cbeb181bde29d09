package io.hvd.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Deadlocks of ranks that are threads end long before the limit for waits, and jobs that only look like one do not. */
class StandstillTest {
    private static final long LIMIT_SECONDS = 90;

    @TempDir
    Path folder;

    @Test
    void deadlocksEndAtTheLimitForStandstillsWithOneSentenceAndATreeOfStacks() {
        Job job = run(StandstillProgram.DEADLOCKS);

        assertThat(job.lines("FAILED ")).as(job.output()).hasSize(StandstillProgram.DEADLOCKS.size());
        assertThat(job.lines("ENDED ")).isEmpty();
        assertThat(job.lines("FAILED "))
                .allMatch(line -> line.contains("HVD-303") && line.contains("this is a deadlock"))
                .first()
                .asString()
                .contains("allreduce \"a\"", "allreduce \"b\"", "StandstillProgram.sum(StandstillProgram.java:");
        assertThat(job.lines("This is a deadlock: no thread of any rank can make the missing calls"))
                .as("said before the end")
                .hasSameSizeAs(StandstillProgram.DEADLOCKS)
                .allMatch(line -> line.contains("The job ends after 1.0 s of this"));
        assertThat(job.lines("here | ")).anyMatch(line -> line.contains("rank 0 here | ranks {1, 2} not here"));
    }

    @Test
    @Tag("long")
    void aJobInWhichSomeThreadWillComeIsNeverEnded() {
        Job job = run(StandstillProgram.HEALTHY);

        assertThat(job.lines("ENDED ")).as(job.output()).hasSize(StandstillProgram.HEALTHY.size());
        assertThat(job.lines("FAILED ")).isEmpty();
        assertThat(job.lines("LATE")).as("of the barrier with a limit").hasSize(3);
        assertThat(job.lines("This is a deadlock")).isEmpty();
        assertThat(job.lines("it is not certain, because rank "))
                .as(job.output())
                .anyMatch(line -> line.contains("thread \"user\" is TIMED_WAITING at StandstillProgram"))
                .anyMatch(line -> line.contains("thread \"user\" is RUNNABLE at StandstillProgram.compute("));
    }

    private Job run(List<String> programs) {
        Job job = Job.run(
                Job.program(StandstillProgram.class, "threads", String.join(",", programs)),
                Map.of("HVD_STANDSTILL_SECONDS", "1", "HVD_REPORT_DIR", folder.toString()),
                LIMIT_SECONDS);
        assertThat(job.exitCode()).as(job.output()).isZero();
        return job;
    }
}
