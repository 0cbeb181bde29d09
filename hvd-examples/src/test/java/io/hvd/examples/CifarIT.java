package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.data.mapped.MappedDataset;
import io.hvd.examples.data.CifarFiles;
import io.hvd.tensor.Tensor;
import io.hvd.testing.Job;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The CIFAR-10 example through the real jar, with a very narrow net on a folder of a few JPEG files: 24 to train on, 21
 * to test on, which cannot be dealt evenly to 2 or 4 ranks.
 */
class CifarIT {
    private static final String FILE = "net.safetensors";
    private static final int EPOCHS = 2;
    private static final int TRAIN = 24;
    private static final int TEST = 21;

    @TempDir
    private static Path folder;

    private static Path data;
    private static Job training;

    @BeforeAll
    static void trainOnTwoRanksInFoldersOfTheirOwn() throws IOException {
        data = Files.createDirectory(folder.resolve("data"));
        CifarFiles.writeFolders(data, TRAIN / 3, TEST / 3);
        training = TrainJar.horovodrunInOwnFolders(
                2,
                folder.resolve("trained"),
                flags(
                        "--epochs",
                        "" + EPOCHS,
                        "--checkpoint",
                        FILE,
                        "--epoch-csv",
                        "epochs.csv",
                        "--local_rank=1",
                        "--mapped",
                        folder.resolve("train.hvd").toString()));
    }

    @Test
    void theJobSaysWhatItDidOnce() {
        ResultLine result = ResultLine.of(training);

        assertThat(result.example()).isEqualTo("cifar10");
        assertThat(result.ranks()).isEqualTo(2);
        assertThat(result.epochs()).isEqualTo(EPOCHS);
        assertThat(result.steps()).isEqualTo(EPOCHS * TRAIN / 8);
        assertThat(result.evaluated()).hasValue(TEST);
        assertThat(result.data()).isEqualTo("files");
        assertThat(result.top5().orElseThrow()).isEqualTo(1); // there are three classes
        assertThat(training.lines("model resnet18 (cifar stem, 10 classes, width 2)"))
                .hasSize(1);
        assertThat(training.lines("epoch 1/2 step 2/3: batch ")).hasSize(1);
        assertThat(training.lines("evaluated 21 distinct samples")).hasSize(1);
        assertThat(training.lines("final top-1 "))
                .hasSize(1)
                .first()
                .asString()
                .matches("final top-1 \\d+\\.\\d{3} %, top-5 100\\.000 %");
        assertThat(training.lines("data wait "))
                .hasSize(1)
                .first()
                .asString()
                .matches("data wait \\d+\\.\\d % of the training time on rank 0");
        assertThat(training.lines("rank 0: --local_rank says 1, but this is local rank 0"))
                .hasSize(1);
    }

    @Test
    void theDecodedImagesLieInOneFileOfTheHost() {
        MappedDataset images = MappedDataset.open(folder.resolve("train.hvd"));
        assertThat(images.size()).isEqualTo(TRAIN);
        assertThat(images.get(TRAIN - 1).remaining()).isEqualTo(4 * (3 * 32 * 32 + 1));
    }

    @Test
    void rankZeroAloneWritesTheFiles() throws IOException {
        assertThat(filesIn("trained/rank-0")).containsExactly("epochs.csv", "model_best-" + FILE, FILE);
        assertThat(filesIn("trained/rank-1")).isEmpty();
        assertThat(Files.readAllLines(folder.resolve("trained/rank-0/epochs.csv")))
                .hasSize(1 + EPOCHS)
                .startsWith("start,seconds")
                .last()
                .asString()
                .matches("\\d{4}-\\d\\d-\\d\\dT[0-9:.]+Z,\\d+\\.\\d{3}");
    }

    @Test
    void predictionsAndMeansDoNotDependOnTheNumberOfRanks() throws IOException {
        ResultLine trained = ResultLine.of(training);
        List<String> predictions = evaluate(1, trained);

        assertThat(predictions).hasSize(1 + TEST).startsWith("index,label,predicted");
        for (int i = 0; i < TEST; i++) {
            assertThat(predictions.get(1 + i)).startsWith(i + "," + i / (TEST / 3) + ",");
        }
        assertThat(evaluate(2, trained)).isEqualTo(predictions);
    }

    @Test
    @Tag("long")
    void predictionsOfFourRanksAndOfThreadsAreTheSame() throws IOException {
        ResultLine trained = ResultLine.of(training);
        List<String> predictions = evaluate(4, trained);

        assertThat(predictions).isEqualTo(evaluate(1, trained));
        Path threads = folder.resolve("threads.csv");
        assertSameMeans(ResultLine.of(TrainJar.alone(evaluation(threads, "--threads", "2"))), 2, trained);
        assertThat(Files.readAllLines(threads)).isEqualTo(predictions);
    }

    /** Ranks as threads of one JVM do what ranks as processes do. */
    @Test
    void threadsTrainToTheVeryFileThatProcessesTrainTo() {
        Path file = folder.resolve("of-threads.safetensors");
        ResultLine result = ResultLine.of(
                TrainJar.alone(flags("--epochs", "" + EPOCHS, "--checkpoint", file.toString(), "--threads", "2")));

        assertThat(result.ranks()).isEqualTo(2);
        assertThat(file).hasSameBinaryContentAs(folder.resolve("trained/rank-0").resolve(FILE));
    }

    /** Two ranks have one sum, whatever the order. */
    @Test
    @Tag("long")
    void oneThreadInEachOfTwoProcessesTrainsToTheVeryFileOfTwoProcesses() {
        assertThat(trainedBy(2, 1))
                .hasSameBinaryContentAs(folder.resolve("trained/rank-0").resolve(FILE));
    }

    /** Four may be added up in several orders, which differ in the last bits. */
    @Test
    @Tag("long")
    void twoThreadsInEachOfTwoProcessesTrainToTheWeightsOfFourProcesses() throws IOException {
        Path processes = folder.resolve("of-4-processes.safetensors");
        ResultLine.of(TrainJar.horovodrun(4, flags("--epochs", "" + EPOCHS, "--checkpoint", processes.toString())));

        Map<String, Tensor> expected = Checkpoint.read(processes).tensors();
        Map<String, Tensor> trained = Checkpoint.read(trainedBy(2, 2)).tensors();
        assertThat(trained.keySet()).isEqualTo(expected.keySet());
        assertThat(Weights.largestDifference(trained, expected)).isLessThan(1e-4);
    }

    private static Path trainedBy(int processes, int threads) {
        Path file = folder.resolve("of-" + processes + "x" + threads + ".safetensors");
        ResultLine result = ResultLine.of(TrainJar.horovodrun(
                processes, flags("--epochs", "" + EPOCHS, "--checkpoint", file.toString(), "--threads", "" + threads)));
        assertThat(result.ranks()).isEqualTo(processes * threads);
        return file;
    }

    @Test
    void aBatchThatCannotBeDealtEvenlyIsRefusedOnceAndIsTheFirstFailure() {
        Job job = TrainJar.horovodrun(2, "cifar10", "--data-dir", data.toString(), "-b", "7");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(2);
        assertThat(job.lines("cannot be dealt evenly to 2 ranks")).hasSize(2);
        assertThat(job.lines("horovodrun: first failure: rank 0 on ")).hasSize(1);
    }

    @Test
    void aThreadThatFailsEndsTheProgramWithTheCause() throws IOException {
        Path damaged = folder.resolve("damaged");
        CifarFiles.writeFolders(damaged, 4, 1);
        Files.writeString(damaged.resolve("train/red/002.jpg"), "no image");

        Job job = TrainJar.alone(
                "cifar10", "--data-dir", damaged.toString(), "--width", "2", "-b", "4", "--threads", "2");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.output()).contains("red/002.jpg");
        assertThat(job.lines("RESULT")).isEmpty();
    }

    private static List<String> evaluate(int ranks, ResultLine trained) throws IOException {
        Path file = folder.resolve("of-" + ranks + ".csv");
        assertSameMeans(ResultLine.of(TrainJar.horovodrun(ranks, evaluation(file))), ranks, trained);
        return Files.readAllLines(file);
    }

    private static void assertSameMeans(ResultLine result, int ranks, ResultLine trained) {
        assertThat(result.ranks()).isEqualTo(ranks);
        assertThat(result.steps()).isZero();
        assertThat(result.accuracy()).isEqualTo(trained.accuracy());
        assertThat(result.loss()).isCloseTo(trained.loss(), within(1e-4));
        assertThat(result.evaluated()).hasValue(TEST);
    }

    private static String[] evaluation(Path predictions, String... more) {
        List<String> all = new ArrayList<>(List.of(
                "--evaluate",
                "--checkpoint",
                folder.resolve("trained/rank-0").resolve(FILE).toString(),
                "--predict-out",
                predictions.toString()));
        all.addAll(List.of(more));
        return flags(all.toArray(String[]::new));
    }

    private static String[] flags(String... more) {
        List<String> all = new ArrayList<>(List.of("cifar10", "--data-dir", data.toString(), "--width", "2"));
        all.addAll(List.of("--batch-size", "8", "--print-freq", "2"));
        all.addAll(List.of(more));
        return all.toArray(String[]::new);
    }

    private static List<String> filesIn(String name) throws IOException {
        try (Stream<Path> files = Files.list(folder.resolve(name))) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }
}
