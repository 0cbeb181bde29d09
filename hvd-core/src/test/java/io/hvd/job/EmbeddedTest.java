package io.hvd.job;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One rank inside a program that nobody started with mpirun: the process is the program's, and hvd never ends it. */
class EmbeddedTest {
    private static Job run(String what) {
        return Job.run(Job.program(EmbeddedProgram.class, what), Map.of());
    }

    @Test
    void aThreadThatThrowsEndsNothingButItself() {
        Job job = run("thread-throws");
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output())
                .contains("Exception in thread \"request-1\"", "a request that went wrong", "WORKED true")
                .doesNotContain("FAILED");
    }

    @ParameterizedTest
    @ValueSource(strings = {"own-handler", "own-handler-and-the-option-is-set"})
    void theProgramsOwnHandlerStays(String what) {
        Job job = run(what);
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output())
                .contains("STILL ITS OWN true", "OWN HANDLER request-1 a request that went wrong", "WORKED true")
                .doesNotContain("FAILED");
    }

    @Test
    void aProgramThatReturnsWithoutCloseHasNotFailed() {
        Job job = run("unclosed");
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output()).contains("WORKED true").doesNotContain("FAILED", "wait for ever");
    }

    @Test
    void aProgramThatExitsKeepsItsCodeAndItsWords() {
        Job job = run("exit");
        assertThat(job.exitCode()).as(job.output()).isEqualTo(3);
        assertThat(job.output()).contains("WORKED true").doesNotContain("FAILED", "wait for ever");
    }

    @Test
    void aFailureOfCommunicationReachesEveryCallAndTheProgramMayBeginAnew() {
        Job job = run("communication-fails");
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("CAUGHT"))
                .as(job.output())
                .hasSize(2)
                .allSatisfy(line -> assertThat(line).contains("ReadOnlyBuffer"));
        assertThat(job.output()).contains("WORKED true").doesNotContain("FAILED");
    }

    @Test
    void anInitThatFailsEndsItsThreadOnly() {
        Job job = Job.run(Job.program(EmbeddedProgram.class, "init-fails"), Map.of("HOROVOD_FUSION_THRESHOLD", "lots"));
        assertThat(job.exitCode())
                .as("the main thread has thrown: %s", job.output())
                .isEqualTo(1);
        assertThat(job.output())
                .contains("Exception in thread \"main\"", "HVD-103", "\"lots\"", "LIVES ON")
                .doesNotContain("FAILED");
    }
}
