package io.hvd.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.file.WholeFile;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.Sgd;
import io.hvd.tensor.Tensor;
import io.hvd.testing.StandardError;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What goes wrong around the writing of checkpoints, on ranks that are threads of this JVM. */
@Timeout(60)
class CheckpointFaultsTest {
    @TempDir
    Path folder;

    /** Of an optimizer of one array; the model has buffers too, each of which has the rank for its value. */
    private static Checkpoints checkpoints(HvdContext hvd, Path folder, UnaryOperator<CheckpointsBuilder> more) {
        float[] weights = new float[4];
        DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                        new Sgd(new ArrayParameters().add("w", weights, new float[4]), 0.1))
                .context(hvd)
                .build();
        SortedMap<String, Tensor> model = new TreeMap<>();
        model.put("w", Tensor.of(weights));
        for (int i = 0; i < 6; i++) {
            model.put("norm" + i + ".running_mean", Tensor.of(new float[] {hvd.rank()}));
        }
        return more.apply(Checkpoints.in(folder, hvd, optimizer)
                        .model(() -> model, saved -> ResumableParts.overwrite(model, saved)))
                .build();
    }

    private Path set(long step) {
        return new CheckpointFolder(folder).set(step);
    }

    @Test
    void filesSayTheirFormatToTransformers() throws IOException {
        Hvd.spawn(2, hvd -> {
            try (Checkpoints one = checkpoints(hvd, folder, builder -> builder);
                    Checkpoints all = checkpoints(hvd, folder, CheckpointsBuilder::everyRankWrites)) {
                one.saveAndWait(1, 0);
                all.resumeLatest();
                all.saveAndWait(2, 0);
                assertThat(all.resumeLatest().orElseThrow().others()).doesNotContainKey("format");
            }
            return null;
        });
        for (Path file : List.of(
                new CheckpointFolder(folder).file(1),
                set(2).resolve("model-00001-of-00002.safetensors"),
                set(2).resolve("model-00002-of-00002.safetensors"))) {
            assertThat(Checkpoint.read(file).metadata()).containsEntry("format", "pt");
        }
    }

    @Test
    void buffersOfTheModelAreAllTheFirstRanks() throws IOException {
        Hvd.spawn(3, hvd -> {
            try (Checkpoints all = checkpoints(hvd, folder, CheckpointsBuilder::everyRankWrites)) {
                all.saveAndWait(1, 0);
            }
            return null;
        });
        SortedMap<String, Tensor> saved = new TreeMap<>(Checkpoint.read(set(1)).tensors());
        saved.keySet().removeIf(name -> !name.contains("running_mean"));
        assertThat(saved).hasSize(6);
        saved.forEach((name, tensor) ->
                assertThat((float[]) tensor.toArray()).as(name).containsExactly(0));
    }

    /** What a kill between the two renames leaves, one by which the old set makes room and one by which the new one comes. */
    @Test
    void aSetThatAnotherOneOfItsStepIsToReplaceStaysACheckpointUntilThatIsThere() throws IOException {
        save(7, "first");
        CheckpointFolder series = new CheckpointFolder(folder);
        UnfinishedSet another = another(7);

        series.setAside(7);
        assertThat(set(7)).doesNotExist();
        assertThat(resumed()).isEqualTo("7 first");
        UnfinishedSet.deleteLeftovers(folder);
        assertThat(resumed()).isEqualTo("7 first");

        save(7, "second");
        assertThat(resumed()).isEqualTo("7 second");
        another = another(7);
        another.commit(series, 7);
        assertThat(another.path()).doesNotExist();
        assertThat(series.replaced(7)).isDirectoryContaining("glob:**/model-00001-of-00001.safetensors");
        save(8, "third"); // the next save deletes what was replaced
        assertThat(series.replaced(7)).doesNotExist();
        assertThat(folder.toFile().list()).containsExactlyInAnyOrder("step-0000000007", "step-0000000008");
    }

    /** What a kill before the deletion of the replaced set leaves, if the disk then damages the one that has taken its place. */
    @Test
    void theReplacedSetThatARunGoesOnFromStaysUntilThereIsAnother() throws Exception {
        save(7, "first");
        CheckpointFolder series = new CheckpointFolder(folder);
        series.setAside(7);
        another(7).commit(series, 7);
        Path file = set(7).resolve("model-00001-of-00001.safetensors");
        byte[] bytes = Files.readAllBytes(file);
        bytes[bytes.length - 1] ^= 1;
        Files.write(file, bytes);

        String said = StandardError.during(() -> Hvd.spawn(1, hvd -> {
            try (Checkpoints checkpoints = checkpoints(hvd, folder, CheckpointsBuilder::everyRankWrites)) {
                assertThat(checkpoints.resumeLatest()).isPresent();
                checkpoints.requireWritable();
            } // is killed before its first save
            return null;
        }));
        assertThat(said)
                .contains("a newer checkpoint is refused. " + set(7) + ": ")
                .contains("going on from " + series.replaced(7) + ", which 1 ranks");
        assertThat(resumed()).isEqualTo("7 first");
        assertThat(folder.toFile().list()).as("the damaged one has made room").containsExactly("step-0000000007");
        save(7, "second");
        assertThat(resumed()).isEqualTo("7 second");
    }

    /** The first rank alone neither makes nor replaces such sets, and goes on from them. */
    @Test
    void theReplacedSetStaysAlsoIfTheFirstRankAloneGoesOnFromIt() throws Exception {
        save(7, "first");
        CheckpointFolder series = new CheckpointFolder(folder);
        series.setAside(7);
        another(7).commit(series, 7);
        Files.delete(set(7).resolve("model-00001-of-00001.safetensors"));
        Hvd.spawn(1, hvd -> {
            try (Checkpoints checkpoints = checkpoints(hvd, folder, builder -> builder)) {
                assertThat(checkpoints.resumeLatest()).isPresent();
                checkpoints.requireWritable();
            }
            return null;
        });
        assertThat(resumed()).isEqualTo("7 first");
    }

    /** Between the listing of a step and the reading of its set that is renamed, and a damaged one may get its name. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anOptimizersStateIsTakenFromASetThatIsReplacedWhileItIsRead(boolean another) throws IOException {
        CheckpointFolder series = new CheckpointFolder(folder);
        writeState(series.file(6), "6");
        writeState(series.file(7), "refused");
        List<String> offered = new ArrayList<>();
        writeSet(7, "set");
        OptionalLong step = new SavedOptimizers(series).offer(state -> {
            offered.add(state.word(NamedState.KIND));
            if (offered.get(offered.size() - 1).equals("refused")) {
                try {
                    if (another) {
                        writeSet(7, "another");
                        Files.delete(set(7).resolve("model-00001-of-00001.safetensors"));
                    } else {
                        series.setAside(7);
                    }
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
                throw new HvdException(ErrorId.STATE_MISMATCH, "the file is of another optimizer");
            }
        });
        assertThat(step).hasValue(7);
        assertThat(offered).containsExactly("refused", "set");
    }

    private static void writeState(Path file, String kind) throws IOException {
        SortedMap<String, String> words = new TreeMap<>();
        words.put(NamedState.KIND, kind);
        new Checkpoint(new TreeMap<>(), new TreeMap<>())
                .withState("optimizer", new NamedState(new TreeMap<>(), words))
                .write(file);
    }

    /** A set of one file with an optimizer's state. */
    private void writeSet(long step, String kind) throws IOException {
        UnfinishedSet unfinished = another(step);
        writeState(unfinished.file(0), kind);
        unfinished.commit(new CheckpointFolder(folder), step);
    }

    @Test
    void aSetThatCannotBeReplacedIsPutBack() throws IOException {
        save(7, "first");
        UnfinishedSet gone = another(7);
        CheckpointFolder.deleteFiles(gone.path());
        Files.createDirectories(
                gone.path().resolve("model.safetensors.index.json").getParent());
        assertThatThrownBy(() -> gone.commit(new CheckpointFolder(folder), 7)).isInstanceOf(IOException.class);
        assertThat(resumed()).isEqualTo("7 first");
        new CheckpointFolder(folder).setAside(7);
        new CheckpointFolder(folder).restore(7);
        assertThat(set(7)).exists();
    }

    /** With a word that says which checkpoint it is. */
    private void save(long step, String word) {
        Hvd.spawn(1, hvd -> {
            try (Checkpoints checkpoints = checkpoints(
                    hvd, folder, builder -> builder.everyRankWrites().version("word", word))) {
                checkpoints.resumeLatest();
                checkpoints.saveAndWait(step, 0);
            }
            return null;
        });
    }

    private String resumed() {
        return Hvd.spawn(1, hvd -> {
                    try (Checkpoints checkpoints = checkpoints(hvd, folder, CheckpointsBuilder::everyRankWrites)) {
                        Manifest found = checkpoints.resumeLatest().orElseThrow();
                        return found.step() + " " + found.part("version").get("word");
                    }
                })
                .get(0);
    }

    /** A set of one file that is about to become a checkpoint. */
    private UnfinishedSet another(long step) throws IOException {
        UnfinishedSet unfinished = UnfinishedSet.of(folder, step, WholeFile.owner(), "ab", 1);
        Files.createDirectories(unfinished.path());
        new Checkpoint(new TreeMap<>(), new TreeMap<>()).write(unfinished.file(0));
        return unfinished;
    }

    @Test
    void filesThatAreBegunMayStayAsTheyAreForLonger() throws IOException {
        UnfinishedSet unfinished = UnfinishedSet.of(folder, 7, WholeFile.owner(), "ab", 3);
        Files.createDirectories(unfinished.path());
        Files.createFile(unfinished.path().resolve(".model-00002-of-00003.safetensors." + WholeFile.owner() + ".tmp"));
        assertThat(unfinished.stillMinutes(List.of(1))).isEqualTo(30);
        assertThat(unfinished.stillMinutes(List.of(1, 2))).isEqualTo(5);
    }

    @Test
    void whatAnyExceptionSaysComesToAllRanks() {
        Hvd.spawn(2, hvd -> {
            RanksTogether ranks = new RanksTogether(hvd);
            assertThat(ranks.firstFailure("attempt", () -> fail(hvd)))
                    .isEqualTo("rank 1: java.lang.IllegalStateException");
            assertThatThrownBy(() -> ranks.ask("question", () -> fail(hvd), () -> {}))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContaining("java.lang.IllegalStateException");
            return null;
        });
    }

    private static String fail(HvdContext hvd) {
        if (hvd.rank() == 1) {
            throw new IllegalStateException();
        }
        return "";
    }

    @Test
    void aRankThatSeesAnotherFolderIsNamedOnAllRanks() {
        Hvd.spawn(2, hvd -> {
            try (Checkpoints all = checkpoints(hvd, folder, CheckpointsBuilder::everyRankWrites)) {
                all.saveAndWait(1, 0);
            }
            Path seen = hvd.rank() == 0 ? folder : folder.resolve("none");
            try (Checkpoints all = checkpoints(hvd, seen, CheckpointsBuilder::everyRankWrites)) {
                assertThatThrownBy(all::resumeLatest)
                        .isInstanceOfSatisfying(
                                HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.NO_VALID_CHECKPOINT))
                        .hasMessageContaining("rank 1: ");
            }
            return null;
        });
    }

    @Test
    void whatFailedSavesHaveLeftIsDeletedBeforeRoomIsAskedFor() throws IOException {
        Path left = UnfinishedSet.of(folder, 7, WholeFile.owner(), "ab", 2).path();
        Hvd.spawn(2, hvd -> {
            try (Checkpoints all = checkpoints(hvd, folder, CheckpointsBuilder::everyRankWrites)) {
                makeLeftover(hvd, left);
                all.requireWritable();
                assertThat(left).doesNotExist();
                makeLeftover(hvd, left);
                all.prepare(1, 0);
                assertThat(left).doesNotExist();
            }
            return null;
        });
    }

    private static void makeLeftover(HvdContext hvd, Path left) throws IOException {
        hvd.barrier();
        if (hvd.rank() == 0) {
            Files.createDirectory(left);
            Files.writeString(left.resolve("model-00001-of-00002.safetensors"), "half");
        }
        hvd.barrier();
    }

    @Test
    void oldCheckpointsThatCannotBeDeletedAreAWarning() throws Exception {
        String said = StandardError.during(() -> Hvd.spawn(2, hvd -> {
            try (Checkpoints all = checkpoints(
                    hvd, folder, builder -> builder.everyRankWrites().keep(1))) {
                all.saveAndWait(1, 0);
                if (hvd.rank() == 0) {
                    Files.createDirectories(set(1).resolve("of-another/program"));
                }
                all.saveAndWait(2, 0);
                all.saveAndWait(3, 0);
            }
            return null;
        }));
        assertThat(said).contains("could not be deleted");
        assertThat(new CheckpointFolder(folder).steps()).containsExactly(3L);
    }

    @Test
    void aPreparedCopyIsWrittenOnceAndNotAfterALaterSave() throws IOException {
        Hvd.spawn(2, hvd -> {
            try (Checkpoints all = checkpoints(hvd, folder, CheckpointsBuilder::everyRankWrites)) {
                all.prepare(1, 0);
                all.savePrepared();
                all.saveAndWait(1, 0);
                all.prepare(2, 0);
                all.saveAndWait(3, 0);
                all.savePrepared(); // there is none any more
            }
            return null;
        });
        assertThat(new CheckpointFolder(folder).steps()).containsExactly(3L, 1L);
    }
}
