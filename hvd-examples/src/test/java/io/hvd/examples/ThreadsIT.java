package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.testing.Job;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Ranks as threads: the same trainers, without a launcher, and in each of the processes that one has started. */
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
    void mnistRunsOnThreadsTooEachWithAReducerOfItsOwn() {
        Job job = TrainJar.alone("mnist", "--threads", "3", "--max-steps", "4", "--top-k", "0.02", "--num-groups", "3");
        ResultLine result = ResultLine.of(job);
        assertThat(job.lines("each rank has sent ")).hasSize(1);

        assertThat(result.ranks()).isEqualTo(3);
        assertThat(result.steps()).isEqualTo(4);
    }

    /** Also where the net has dropout, whose masks every rank draws for itself; CifarIT compares the weights every day. */
    @Test
    @Tag("long")
    void threadsOfTwoProcessesAreOneJobOfFourRanksAndTrainLikeFourProcesses() {
        Job job = TrainJar.mpirun(2, "digits", "--threads", "2", "--epochs", "4");
        ResultLine result = ResultLine.of(job);

        assertThat(result.ranks()).isEqualTo(4);
        assertThat(result.steps()).isEqualTo(4 * 23);
        assertThat(result.accuracy()).isBetween(0.4, 1.0);
        ResultLine processes = ResultLine.of(TrainJar.horovodrun(4, "digits", "--epochs", "4"));
        assertThat(result.loss()).isCloseTo(processes.loss(), within(1e-3));
        assertThat(job.lines("epoch ")).as("one rank speaks for all").hasSize(4);
        assertThat(job.lines("hybrid: 2 processes x 2 threads")).hasSize(1);
    }

    @Test
    void gpuCheckSaysWhyItHasNoThreads() throws Exception {
        TrainHere refused = TrainHere.run("gpu-check", "--threads", "2");

        assertThat(refused.exitCode()).as(refused.output()).isEqualTo(BAD_USAGE);
        assertThat(refused.output())
                .contains("--threads is refused", "each rank needs a process with a GPU of its own");
    }
}
