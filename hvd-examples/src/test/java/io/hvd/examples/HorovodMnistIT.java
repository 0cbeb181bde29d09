package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Horovod's MNIST examples under real mpirun, with the flags of their own command lines. */
class HorovodMnistIT {
    @Test
    void aLineWithHorovodsFlagsRunsAndBothRanksPrintAtTheirInterval() {
        Job job = TrainJar.horovodrun(
                2,
                ("mnist --batch-size 32 --test-batch-size 500 --epochs 1 --lr 0.02 --momentum 0.9 --seed 1 --log-interval 2"
                                + " --no-cuda --fp16-allreduce --gradient-predivide-factor 2.0 --max-steps 5")
                        .split(" "));

        assertThat(job.exitCode()).as(job.output()).isZero();
        for (int rank = 0; rank < 2; rank++) {
            for (int samples : List.of(0, 64, 128)) {
                assertThat(job.lines("rank " + rank + ", epoch 1: " + samples + " of 3000 samples ("))
                        .hasSize(1);
            }
        }
        assertThat(job.lines("test loss ")).hasSize(1);
        assertThat(ResultLine.of(job).loss()).isBetween(0.5, 2.4);
    }

    /** MnistCallbacksTest runs it on threads every day. */
    @Test
    @Tag("long")
    void theExampleWithCallbacksRuns() {
        Job job = TrainJar.horovodrun(
                2, "mnist-callbacks", "--preset", "quick", "--epochs", "3", "--steps", "8", "--batch-size", "32");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("epoch 3: the warm-up has ended at learning rate 0.002"))
                .hasSize(1);
        assertThat(job.lines("epoch 3/3: loss ")).hasSize(1);
        assertThat(job.lines("epoch 3/3: peak memory of the ranks' processes in MiB ["))
                .hasSize(1);
        assertThat(ResultLine.of(job).loss()).isLessThan(2.4);
    }
}
