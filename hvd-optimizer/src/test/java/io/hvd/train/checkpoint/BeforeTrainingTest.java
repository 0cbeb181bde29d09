package io.hvd.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.ElasticSampler;
import io.hvd.data.Stateful;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.train.Callback;
import io.hvd.train.Checkpoint;
import io.hvd.train.Goal;
import io.hvd.train.SaveCheckpoint;
import io.hvd.train.TrainingLoop;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A save that is known to fail is refused on all ranks before the first step. */
@Timeout(60)
class BeforeTrainingTest {
    private final AtomicInteger steps = new AtomicInteger();

    @TempDir
    Path folder;

    @AfterEach
    void nothingWasTrained() {
        assertThat(steps).hasValue(0);
    }

    private HvdException refusal(Path checkpoints, UnaryOperator<CheckpointsBuilder> more) {
        return refusal(hvd -> null, checkpoints, more);
    }

    /** The error, which is the same on all ranks. @param extra makes a callback, or gives null */
    private HvdException refusal(
            Function<HvdContext, Callback> extra, Path folder, UnaryOperator<CheckpointsBuilder> more) {
        List<HvdException> all = Hvd.spawn(3, hvd -> {
            HvdException[] thrown = {null};
            assertThatThrownBy(() -> train(hvd, extra.apply(hvd), folder, more))
                    .isInstanceOfSatisfying(HvdException.class, e -> thrown[0] = e);
            return thrown[0];
        });
        String words = all.get(0).words().replace("rank 0, before", "rank, before");
        assertThat(all).allSatisfy(one -> {
            assertThat(one.id()).isEqualTo(ErrorId.CHECKPOINT_NOT_WRITTEN);
            assertThat(one.words().replaceFirst("rank \\d, before", "rank, before"))
                    .isEqualTo(words);
        });
        return all.get(0);
    }

    private Object train(HvdContext hvd, Callback extra, Path folder, UnaryOperator<CheckpointsBuilder> more)
            throws Exception {
        var optimizer = DistributedOptimizer.wrap(
                        new Sgd(new ArrayParameters().add("w", new float[1], new float[1]), 1))
                .build();
        optimizer.broadcastParameters(0);
        var sampler = ElasticSampler.builder(6, hvd.size(), hvd.rank()).build();
        try (var loader = DataLoader.<Integer, List<Integer>>builder(
                                Dataset.of(List.of(0, 1, 2, 3, 4, 5)), sampler, List::copyOf)
                        .build();
                var checkpoints = more.apply(
                                Checkpoints.in(folder, hvd, optimizer).with("sampler", sampler))
                        .build()) {
            TrainingLoop loop = TrainingLoop.of(hvd, optimizer);
            if (extra != null) {
                loop.with(extra);
            } else {
                loop.with(AutoResume.everySteps(1, checkpoints, sampler));
            }
            return loop.run(1, loader, (batch, training) -> steps.incrementAndGet());
        }
    }

    @Test
    void aCheckpointFolderThatIsAFileIsRefused() throws IOException {
        Path file = Files.createFile(folder.resolve("series"));
        assertThat(refusal(file, builder -> builder)).hasMessageContainingAll(file.toString(), "expected a folder");
    }

    @Test
    void aCheckpointFolderThatCannotBeMadeIsRefused() throws IOException {
        Path file = Files.createFile(folder.resolve("file"));
        assertThat(refusal(file.resolve("series"), builder -> builder))
                .hasMessageContainingAll(file.resolve("series").toString(), "cannot be made");
    }

    @Test
    void aWordThatNoFileCanHoldIsRefused() {
        Stateful half = new Stateful() {
            @Override
            public Map<String, String> saveState() {
                return Map.of("name", "half of a pair \uD800");
            }

            @Override
            public void loadState(Map<String, String> state) {}
        };
        assertThat(refusal(folder, builder -> builder.with("half", half))).hasMessageContaining("UTF-16");
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void aDiskWithoutTheRoomForOneFileIsRefusedWithBothNumbers() throws IOException {
        FileStore disk = Files.getFileStore(folder);
        SeriesFiles files = new SeriesFiles(new CheckpointFolder(folder), 3, Checkpoint::write);
        files.requireRoom(1);
        long tooMuch = disk.getTotalSpace() + 1;
        assertThatThrownBy(() -> files.requireRoom(tooMuch))
                .hasMessageContaining("has " + tooMuch + " bytes")
                .hasMessageContaining("the disk has room for");
        assertThat(folder).isEmptyDirectory();
    }

    /** Three are kept while a fourth one is being written. */
    @Test
    void theRoomOfAllCheckpointsThatAreThereAtOnceIsAskedFor() throws IOException {
        SeriesFiles files = new SeriesFiles(new CheckpointFolder(folder), 3, Checkpoint::write);
        long third = SeriesFiles.room(folder) / 3;
        assertThatThrownBy(() -> files.requireRoom(third))
                .hasMessageContaining("has " + third + " bytes, and 4 of them are there at once, of which 0 bytes")
                .hasMessageContaining("expected room for " + 4 * third + " more");
        new SeriesFiles(new CheckpointFolder(folder), Integer.MAX_VALUE, Checkpoint::write).requireRoom(third);
    }

    @Test
    void everyRankThatWritesIsToldToo() throws IOException {
        Path file = Files.createFile(folder.resolve("series"));
        assertThat(refusal(file, CheckpointsBuilder::everyRankWrites))
                .hasMessageContainingAll(file.toString(), "rank 0", "expected a folder");
        Stateful half = new Stateful() {
            @Override
            public Map<String, String> saveState() {
                return Map.of("name", "half of a pair \uD800");
            }

            @Override
            public void loadState(Map<String, String> state) {}
        };
        assertThat(refusal(folder, builder -> builder.everyRankWrites().with("half", half)))
                .hasMessageContaining("UTF-16");
    }

    /** In a chroot whose root is no mount Java finds no file store; a folder that is not there gives the same exception. */
    @Test
    void whereTheRoomIsNotKnownAnyFileMayFit() {
        assertThat(SeriesFiles.room(folder.resolve("nowhere"))).isEqualTo(Long.MAX_VALUE);
        assertThat(SeriesFiles.room(folder)).isBetween(1L, Long.MAX_VALUE - 1);
    }

    @Test
    void theSizeOfACheckpointIsThatOfItsFile() throws IOException {
        var tensors = new TreeMap<String, io.hvd.tensor.Tensor>();
        tensors.put("a", io.hvd.tensor.Tensor.of(new float[] {1, 2, 3}));
        tensors.put("b", io.hvd.tensor.Tensor.of(new double[] {1}));
        Checkpoint checkpoint = new Checkpoint(tensors, Map.of("k", "word")).withTensorSums();
        checkpoint.write(folder.resolve("file"));
        assertThat(checkpoint.bytes()).isEqualTo(Files.size(folder.resolve("file")));
    }

    @Test
    void theFileOfTheBestModelIsTriedToo() throws IOException {
        Path nowhere = folder.resolve("none").resolve("best");
        assertThat(refusal(hvd -> best(nowhere), folder, builder -> builder))
                .hasMessageContainingAll(nowhere.toString(), "there is no folder");
        assertThat(refusal(hvd -> best(folder), folder, builder -> builder))
                .hasMessageContainingAll(folder.toString(), "is a folder, expected a regular file");
    }

    private static SaveCheckpoint best(Path file) {
        return SaveCheckpoint.best(Goal.smallest("loss"), file, training -> new Checkpoint(new TreeMap<>(), Map.of()));
    }
}
