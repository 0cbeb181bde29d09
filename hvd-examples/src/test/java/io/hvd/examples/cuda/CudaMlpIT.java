package io.hvd.examples.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.examples.ResultLine;
import io.hvd.examples.TrainJar;
import io.hvd.examples.data.IdxFiles;
import io.hvd.testing.HostCuda;
import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The whole example under real mpirun, on a CUDA driver that runs on the CPU. Its speed says nothing. */
class CudaMlpIT {
    private static final int EPOCHS = 10;
    private static final String[] SMALL = {"--hidden", "32,16", "--epochs", String.valueOf(EPOCHS)};
    private static final String[] WHOLE_BATCH = {"--batch-size", "64", "--lr", "0.04"};
    private static final double LEARNED = 0.93;

    private static HostCuda cuda;
    private static Job onTwoRanks;

    @BeforeAll
    static void trainOnTwoRanks() {
        cuda = HostCuda.with(MlpKernelsTest.KERNELS);
        onTwoRanks = train(2);
    }

    @Test
    void twoRanksLearnTheDigitsAndEndWithTheSameWeights() {
        ResultLine result = ResultLine.of(onTwoRanks);

        assertThat(result.example()).isEqualTo("cuda-mlp");
        assertThat(result.ranks()).isEqualTo(2);
        assertThat(result.steps()).isEqualTo(EPOCHS * 23);
        assertThat(result.accuracy()).isBetween(LEARNED, 1.0);
        assertThat(result.data()).isEqualTo("shipped");
        assertThat(onTwoRanks.lines("weights of all ranks are equal, crc32 ")).hasSize(1);
        assertThat(onTwoRanks.lines("host GPU: ")).isEmpty();
    }

    /** Two ranks see, step by step, the samples of one rank with twice the batch. */
    @Test
    void oneRankWithTheWholeBatchLearnsAlikeWithoutALauncher() {
        Job alone = TrainJar.alone(cuda.environment(1), all(WHOLE_BATCH));

        assertThat(ResultLine.of(alone).accuracy()).isBetween(LEARNED, 1.0);
        assertNear(losses(alone), losses(onTwoRanks));
    }

    @Test
    @Tag("long")
    void oneRankHasTheSameLossesWithALauncherAndWithoutOne() {
        Job launched = train(1, WHOLE_BATCH);
        Job alone = TrainJar.alone(cuda.environment(1), all(WHOLE_BATCH));

        assertThat(ResultLine.of(alone).loss())
                .isEqualTo(ResultLine.of(launched).loss());
        assertThat(losses(alone)).isEqualTo(losses(launched));
    }

    @Test
    @Tag("long")
    void gradientsThatTravelAsFloat16GiveNearlyTheSameCurve() {
        Job half = train(2, "--fp16-allreduce");

        assertThat(ResultLine.of(half).accuracy()).isBetween(LEARNED, 1.0);
        assertThat(half.lines("weights of all ranks are equal, crc32 ")).hasSize(1);
        assertThat(losses(half)).isNotEqualTo(losses(onTwoRanks));
        assertNear(losses(half), losses(onTwoRanks));
    }

    @Test
    @Tag("long")
    void adamLearnsToo() {
        Job job = train(2, "--optimizer", "adam");

        assertThat(ResultLine.of(job).accuracy()).isBetween(LEARNED, 1.0);
        assertThat(job.lines("weights of all ranks are equal, crc32 ")).hasSize(1);
    }

    @Test
    void aLossThatIsNoNumberEndsTheJobByName() {
        Job job = train(2, "--lr", "1e30");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(3);
        assertThat(job.lines("cuda-mlp: the test loss after epoch 1 is NaN over all ranks"))
                .hasSize(1);
        assertThat(job.lines("RESULT ")).isEmpty();
    }

    /** Files in MNIST's form with nothing but noise in them: whether they are read and trained on, not what is learnt. */
    @Test
    void twoRanksTrainOnMnistsFilesAndEndWithTheSameWeights(@TempDir Path folder) throws IOException {
        IdxFiles.writeNoise(folder, "train", 256, 28);
        IdxFiles.writeNoise(folder, "t10k", 64, 28);

        Job job = TrainJar.mpirun(
                cuda.environment(2),
                2,
                "cuda-mlp",
                "--data",
                "mnist",
                "--data-dir",
                folder.toString(),
                "--hidden",
                "32,16",
                "--epochs",
                "3");

        assertThat(ResultLine.of(job).steps()).isEqualTo(3 * 4);
        assertThat(ResultLine.of(job).data()).isEqualTo("files");
        assertThat(losses(job)).hasSize(3).doesNotHaveDuplicates();
        assertThat(job.lines("weights of all ranks are equal, crc32 ")).hasSize(1);
    }

    @Test
    void aDriverWithoutGpusIsNamedToo() {
        Job job = TrainJar.alone(cuda.environment(0), "cuda-mlp");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(2);
        assertThat(job.lines("cuda-mlp: rank 0 on ").get(0)).contains("CUDA_ERROR_NO_DEVICE");
        assertThat(job.output()).doesNotContain("\tat ");
    }

    @Test
    void moreRanksThanGpusAreRefusedInOneLineEach() {
        Job job = TrainJar.mpirun(cuda.environment(1), 2, "cuda-mlp");

        assertThat(job.exitCode()).as(job.output()).isNotZero();
        assertThat(job.lines("cuda-mlp: [HVD-107]").get(0))
                .contains("has 2 ranks but only 1 visible GPU", "too few for rank 1.");
        assertThat(job.output()).doesNotContain("\tat ");
    }

    /** SpawnOnGpusTest has the like for threads every day. */
    @Test
    @Tag("long")
    void moreRanksThanGpusAreAJobLikeAnyOtherIfItComputesOnTheCpu() {
        Map<String, String> environment = cuda.environment(1);
        environment.put("HVD_BACKEND", "mpi");

        Job job = TrainJar.mpirun(environment, 2, "digits", "--max-steps", "2");

        assertThat(ResultLine.of(job).ranks()).isEqualTo(2);
        assertThat(job.lines("device of rank 0: cpu")).hasSize(1);
    }

    private static void assertNear(List<Double> found, List<Double> wanted) {
        assertThat(found).hasSize(EPOCHS).hasSameSizeAs(wanted);
        for (int epoch = 0; epoch < EPOCHS; epoch++) {
            assertThat(found.get(epoch)).as("epoch %d", epoch + 1).isCloseTo(wanted.get(epoch), within(0.03));
        }
    }

    private static Job train(int ranks, String... flags) {
        Map<String, String> environment = cuda.environment(2);
        // The ranks compare the weights on their GPUs several times.
        environment.put("HVD_DIVERGENCE_STEPS", "50");
        return TrainJar.mpirun(environment, ranks, all(flags));
    }

    private static String[] all(String... flags) {
        return Stream.of(new String[] {"cuda-mlp"}, SMALL, flags)
                .flatMap(Stream::of)
                .toArray(String[]::new);
    }

    private static List<Double> losses(Job job) {
        return job.lines("epoch ").stream()
                .map(line -> Double.parseDouble(line.replaceFirst(".*test loss ([\\d.]+),.*", "$1")))
                .toList();
    }
}
