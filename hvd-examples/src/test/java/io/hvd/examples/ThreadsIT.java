package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import org.junit.jupiter.api.Test;

/** Ranks as threads of one JVM: the same trainers, without a launcher. */
class ThreadsIT {
    private static final int BAD_USAGE = 2;

    @Test
    void digitsLearnsOnTwoThreads() {
        Job job = TrainJar.alone("digits", "--threads", "2", "--epochs", "4");
        ResultLine result = ResultLine.of(job);

        assertThat(result.ranks()).isEqualTo(2);
        assertThat(result.steps()).isEqualTo(4 * 45);
        assertThat(result.accuracy()).isBetween(0.6, 1.0);
        assertThat(job.lines("epoch ")).hasSize(4);
    }

    @Test
    void mnistRunsOnThreadsToo() {
        ResultLine result = ResultLine.of(TrainJar.alone("mnist", "--threads", "3", "--max-steps", "4"));

        assertThat(result.ranks()).isEqualTo(3);
        assertThat(result.steps()).isEqualTo(4);
    }

    @Test
    void ranksThatALauncherHasStartedMakeNoMoreRanks() {
        Job job = TrainJar.mpirun(2, "digits", "--threads", "2");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(BAD_USAGE);
        assertThat(job.lines("--threads")).hasSize(1).first().asString().contains("already started 2 ranks");
    }

    @Test
    void gpuCheckSaysWhyItHasNoThreads() {
        Job job = TrainJar.alone("gpu-check", "--threads", "2");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(BAD_USAGE);
        assertThat(job.output()).contains("--threads is refused", "a GPU belongs to a process");
    }
}
