package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The ways to start train.jar, and to start it wrongly. */
class StartIT {
    private static final int BAD_USAGE = 2;

    @Test
    void theJarAloneIsOneRank() {
        ResultLine result = ResultLine.of(TrainJar.alone("--max-steps", "5"));

        assertThat(result.example()).isEqualTo("digits");
        assertThat(result.ranks()).isEqualTo(1);
        assertThat(result.steps()).isEqualTo(5);
        assertThat(result.data()).isEqualTo("shipped");
    }

    @Test
    void plainMpirunNeedsNoFlagsForTheJvm() {
        ResultLine result = ResultLine.of(TrainJar.mpirun(2, "--max-steps", "5"));

        assertThat(result.ranks()).isEqualTo(2);
        assertThat(result.steps()).isEqualTo(5);
        assertThat(result.overlap()).isBetween(0.0, 1.0);
    }

    /** HorovodMnistIT does so every day. */
    @Test
    @Tag("long")
    void mnistDrawsItsDigitsWhereThereAreNoFiles() {
        ResultLine result = ResultLine.of(TrainJar.horovodrun(2, "mnist", "--max-steps", "12"));

        assertThat(result.example()).isEqualTo("mnist");
        assertThat(result.epochs()).isEqualTo(1);
        assertThat(result.steps()).isEqualTo(12);
        assertThat(result.data()).isEqualTo("drawn");
        assertThat(result.overlap()).isBetween(0.0, 1.0);
    }

    @Test
    void helpListsExamplesAndFlags() throws Exception {
        Job job = TrainJar.alone("--help");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output())
                .contains("digits", "mnist")
                .contains("--epochs", "--batch-size", "--lr", "--fp16-allreduce", "--bf16-allreduce")
                .contains("--backward-passes-per-step", "--seed", "--checkpoint", "--resume");
        assertThat(TrainHere.run("mnist", "--help").output()).contains("--data-dir", "--train-fraction");
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource({
        "--epochs 0, --epochs",
        "--batch-size many, --batch-size",
        "--lr -0.1, --lr",
        "--lr fast, --lr",
        "--lr-decay 2, --lr-decay",
        "--momentum 1.5, --momentum",
        "--epocs 3, --epocs",
        "--checkpoint, checkpoint",
        "--resume, --checkpoint",
        "--fp16-allreduce --bf16-allreduce, --fp16-allreduce",
        "digits twice, twice",
        "lenet, lenet",
        "mnist --data-dir . --train-fraction 1.5, --train-fraction",
        "mnist --train-fraction 0.5, --data-dir",
    })
    void aMistakeIsNamedAndEndsWithTwo(String flags, String named) throws Exception {
        TrainHere refused = TrainHere.run(flags.split(" "));

        assertThat(refused.exitCode()).as(refused.output()).isEqualTo(BAD_USAGE);
        assertThat(refused.output()).contains(named).doesNotContain("Exception");
    }

    @Test
    void aMistakeEndsAJobOfSeveralRanksTheSameWay() {
        Job job = TrainJar.horovodrun(2, "--epochs", "none");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(BAD_USAGE);
        assertIsTheFirstFailure(job, "digits: --epochs is \"none\"");
    }

    @Test
    void helpIsPrintedOnceWhateverTheNumberOfRanks() {
        Job job = TrainJar.mpirun(2, "cifar10", "--help");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("examples:")).hasSize(1);
    }

    @Test
    void aCheckpointThatCannotBeWrittenIsAMistakeBeforeTheTraining() {
        Job job = TrainJar.horovodrun(2, "--checkpoint", "/nowhere/at/all.ckpt");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(BAD_USAGE);
        assertIsTheFirstFailure(job, "--checkpoint /nowhere/at/all.ckpt: there is no folder /nowhere/at");
        assertThat(job.lines("epoch ")).isEmpty();
    }

    @Test
    @Tag("long")
    void aFolderThatCannotBeWrittenIsAMistakeBeforeTheTraining() {
        Job job = TrainJar.horovodrun(2, "--checkpoint", "/proc/all.ckpt");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(BAD_USAGE);
        assertIsTheFirstFailure(
                job, "--checkpoint /proc/all.ckpt: rank 0 has tried: /proc/all.ckpt: cannot be written");
        assertThat(job.lines("epoch ")).isEmpty();
    }

    /** Rank 0 has said it, and horovodrun says it last. */
    private static void assertIsTheFirstFailure(Job job, String words) {
        List<String> lines = job.output().lines().toList();
        assertThat(lines.stream().filter(line -> line.contains(words)))
                .as(job.output())
                .hasSize(2);
        int first = lines.indexOf(job.lines("horovodrun: first failure: ").get(0));
        assertThat(lines.get(first)).startsWith("horovodrun: first failure: rank 0 on ");
        assertThat(lines.get(first + 1)).contains(words);
        assertThat(lines.get(first + 2)).startsWith("horovodrun: exit code 2");
    }

    /** Every rank says so, and what to do. */
    @Test
    void trainingOnAGpuThatIsNotThereIsRefusedInWords() {
        Job job = TrainJar.alone("digits", "--device", "cuda", "--epochs", "1");
        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.output()).contains("--device cuda on rank 0", "its build for CPUs", "-Pgpu");
    }
}
