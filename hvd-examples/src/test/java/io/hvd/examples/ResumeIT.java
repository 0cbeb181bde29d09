package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.examples.data.IdxFiles;
import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Training in two parts, with MNIST's net and its dropout, on a folder with a few images of noise.
 * Every rank works in a folder of its own, so that it shows who reads and writes the checkpoint.
 */
class ResumeIT {
    private static final String FILE = "training.safetensors";
    private static final int EPOCHS = 2;

    @TempDir
    private static Path folder;

    private static Path data;
    private static Path firstEpoch;

    @BeforeAll
    static void trainOneEpochOnTwoRanks() throws IOException {
        data = Files.createDirectory(folder.resolve("data"));
        IdxFiles.writeNoise(data, "t10k", 300, 28);
        Path stopped = folder.resolve("stopped");
        ResultLine.of(mnist(2, stopped, 1));
        firstEpoch = stopped.resolve("rank-0").resolve(FILE);
    }

    @Test
    void rankZeroAloneWritesTheCheckpoint() throws IOException {
        assertThat(filesIn(folder.resolve("stopped/rank-0"))).containsExactly(FILE);
        assertThat(filesIn(folder.resolve("stopped/rank-1"))).isEmpty();
    }

    @Test
    void aResumedTrainingEndsWithTheVeryFileOfAnUninterruptedOne() throws IOException {
        Path whole = folder.resolve("whole");
        Path resumed = atFirstEpoch("resumed");

        ResultLine atOnce = ResultLine.of(mnist(2, whole, EPOCHS));
        Job job = mnist(2, resumed, EPOCHS, "--resume");
        ResultLine inParts = ResultLine.of(job);

        assertThat(job.lines("epoch ")).singleElement().asString().startsWith("epoch 2/2:");
        assertThat(resumed.resolve("rank-0").resolve(FILE))
                .hasSameBinaryContentAs(whole.resolve("rank-0").resolve(FILE));
        assertThat(inParts.epochs()).isEqualTo(EPOCHS);
        assertThat(inParts.loss()).isEqualTo(atOnce.loss());
        assertThat(inParts.accuracy()).isEqualTo(atOnce.accuracy());
    }

    /** ShardedTorchTest does so on threads every day. The net has 21,840 parameters, whose momentum takes four bytes each. */
    @Test
    @Tag("long")
    void soDoesOneWhoseStateIsSharedOut() throws IOException {
        Path whole = folder.resolve("whole-beside-sharded");
        ResultLine.of(mnist(2, whole, EPOCHS));
        Path sharded = atFirstEpoch("sharded");
        Job job = mnist(2, sharded, EPOCHS, "--resume", "--sharded-optimizer");
        ResultLine.of(job);

        assertThat(sharded.resolve("rank-0").resolve(FILE))
                .hasSameBinaryContentAs(whole.resolve("rank-0").resolve(FILE));
        String line = job.lines("optimizer state in bytes by rank: ").get(0);
        String[] bytes = line.replaceAll("[^0-9,]", "").split(",");
        assertThat(bytes).as(line).hasSize(2);
        assertThat(Long.parseLong(bytes[0]) + Long.parseLong(bytes[1])).isEqualTo(4 * 21_840);
        assertThat(Long.parseLong(bytes[0])).isBetween(4 * 10_000L, 4 * 17_000L);
    }

    @Test
    void anotherNumberOfRanksGoesOnAtTheSavedEpoch() throws IOException {
        Job job = mnist(1, atFirstEpoch("fewer"), 2, "--resume");

        ResultLine result = ResultLine.of(job);
        assertThat(job.lines("epoch ")).hasSize(1).first().asString().startsWith("epoch 2/2:");
        assertThat(result.ranks()).isEqualTo(1);
        assertThat(result.epochs()).isEqualTo(2);
    }

    @Test
    void whereAllEpochsAreDoneTheModelIsOnlyEvaluated() throws IOException {
        Path done = atFirstEpoch("done");

        ResultLine result = ResultLine.of(mnist(1, done, 1, "--resume"));

        assertThat(result.steps()).isZero();
        assertThat(result.epochs()).isEqualTo(1);
        assertThat(result.accuracy()).isBetween(0.0, 1.0);
        assertThat(done.resolve("rank-0").resolve(FILE)).hasSameBinaryContentAs(firstEpoch);
    }

    @Test
    void anEpochThatWasCutShortIsNotSavedAsDone() throws IOException {
        Path cut = folder.resolve("cut");

        ResultLine result = ResultLine.of(mnist(1, cut, 1, "--max-steps", "2"));

        assertThat(result.steps()).isEqualTo(2);
        assertThat(filesIn(cut.resolve("rank-0"))).isEmpty();
    }

    /** A job whose rank 0 finds the checkpoint of the first epoch in its folder, and the other ranks nothing. */
    private static Path atFirstEpoch(String name) throws IOException {
        Path job = folder.resolve(name);
        Files.copy(firstEpoch, Files.createDirectories(job.resolve("rank-0")).resolve(FILE));
        return job;
    }

    private static Job mnist(int ranks, Path job, int epochs, String... flags) {
        List<String> all = new ArrayList<>(List.of("mnist", "--batch-size", "16", "--checkpoint", FILE));
        all.addAll(List.of("--data-dir", data.toString(), "--train-fraction", "0.8"));
        all.addAll(List.of("--epochs", String.valueOf(epochs)));
        all.addAll(List.of(flags));
        return TrainJar.horovodrunInOwnFolders(ranks, job, all.toArray(String[]::new));
    }

    private static List<String> filesIn(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).toList();
        }
    }
}
