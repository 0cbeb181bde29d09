package io.hvd.spark;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import java.io.IOException;
import org.apache.spark.SparkException;
import org.junit.jupiter.api.Test;

class StageFailureTest {
    private static StageFailure failure(String reason) {
        return new StageFailure(
                "HvdSpark.run of 2 ranks",
                new SparkException(
                        "Job aborted due to stage failure: Could not recover from a failed barrier ResultStage."
                                + " Most recent failure reason: Stage failed because barrier task ResultTask(0, 1) finished"
                                + " unsuccessfully.\n" + reason + "\n\tat somewhere"));
    }

    @Test
    void aRankThatHasThrownIsNamedAndNotTriedAgain() {
        HvdException thrown = TaskFailure.of("rank 1 of 2 has failed", new IOException("no file"));
        StageFailure failure = failure(thrown.toString());

        assertThat(failure.isLoss()).isFalse();
        assertThat(failure.exception())
                .hasMessageContaining("HvdSpark.run of 2 ranks has failed: ")
                .hasMessageContaining("rank 1 of 2 has failed: java.io.IOException: no file")
                .hasCauseInstanceOf(SparkException.class);
        assertThat(failure.exception().getMessage()).doesNotContain("somewhere");
    }

    @Test
    void aLostExecutorAndARankThatHasLostAnotherAreLosses() {
        assertThat(failure("ExecutorLostFailure (executor 1 exited unrelated to the running tasks) Reason: killed")
                        .isLoss())
                .isTrue();
        assertThat(failure(TaskFailure.of(
                                        "rank 0 of 2 has failed " + RankTask.IN_CONSEQUENCE,
                                        new ShutdownException("the processes of ranks [1] are gone"))
                                .toString())
                        .isLoss())
                .isTrue();
        assertThat(failure(TaskFailure.of(
                                        "rank 0 of 2 has failed " + RankTask.IN_CONSEQUENCE,
                                        new ShutdownException("the job hangs: rank 1 has not called allreduce"))
                                .toString())
                        .isLoss())
                .isFalse();
    }

    @Test
    void aTaskWithoutABarrierIsNamedToo() {
        HvdException thrown = TaskFailure.of("worker 1 of 2 has failed", new IOException("no file"));
        StageFailure failure = new StageFailure(
                "HvdSpark.runElastic of 2 to 2 ranks",
                new SparkException("Job aborted due to stage failure: Task 1 in stage 6.0 failed 4 times, most recent"
                        + " failure: Lost task 1.3 in stage 6.0 (TID 41) (10.0.0.7 executor 0): " + thrown
                        + "\n\tat somewhere\n\nDriver stacktrace:"));

        assertThat(failure.words()).isEqualTo("worker 1 of 2 has failed: java.io.IOException: no file");
    }

    @Test
    void anErrorAmongTheCausesIsToldInWordsAlone() {
        Throwable missing = new IllegalStateException("no model", new UnsatisfiedLinkError("libtorch.so"));

        HvdException failure = TaskFailure.of("rank 3 of 4 has failed", missing);

        assertThat(failure)
                .hasMessageContaining("rank 3 of 4 has failed: java.lang.IllegalStateException: no model")
                .hasNoCause();
        assertThat(failure.getStackTrace()).isEqualTo(missing.getStackTrace());
        assertThat(TaskFailure.of("", new IOException("x"))).hasRootCauseInstanceOf(IOException.class);
    }
}
