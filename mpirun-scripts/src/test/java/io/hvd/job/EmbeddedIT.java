package io.hvd.job;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A thread of each rank ends by an exception in a job of several ranks, whose program may have a use for that itself. */
class EmbeddedIT {
    @Test
    void aThreadThatThrowsEndsTheJobOfSeveralRanks() {
        Job job = Job.horovodrun(2, EmbeddedProgram.class, "thread-throws");
        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.output()).contains("FAILED", "thread request-1 threw", "a request that went wrong");
    }

    @Test
    void theSettingLeavesItToTheProgram() {
        goesOn(Job.horovodrun(2, Map.of("HVD_UNCAUGHT_HANDLER", "0"), EmbeddedProgram.class, "thread-throws"));
    }

    @Test
    void soDoesTheOption() {
        goesOn(Job.horovodrun(2, EmbeddedProgram.class, "thread-throws-and-the-option-is-set"));
    }

    private static void goesOn(Job job) {
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("WORKED true")).as(job.output()).hasSize(2);
        assertThat(job.lines("Exception in thread \"request-1\"")).hasSize(2);
        assertThat(job.output()).doesNotContain("FAILED");
    }
}
