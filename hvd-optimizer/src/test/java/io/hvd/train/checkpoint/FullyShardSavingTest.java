package io.hvd.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.ProcessSet;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.ElasticSampler;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.FullyShardOptions;
import io.hvd.optimizer.torch.Models;
import io.hvd.optimizer.torch.TorchRuntime;
import io.hvd.tensor.Tensor;
import io.hvd.testing.StandardError;
import io.hvd.train.Checkpoint;
import io.hvd.train.LearningRate;
import io.hvd.train.Training;
import io.hvd.train.TrainingLoop;
import io.hvd.train.safetensors.SetIndex;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.Scalar;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Checkpoints of models of which each rank has a shard, on ranks that are threads of this JVM. */
@Timeout(180)
class FullyShardSavingTest {
    @TempDir
    Path folder;

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    private Path set(long step) {
        return new CheckpointFolder(folder).set(step);
    }

    private static FullyShardOptions zero3() {
        return FullyShardOptions.zero3();
    }

    /** Goes on from the newest checkpoint, trains some steps and saves. @return the step from which it has gone on */
    private long run(int ranks, FullyShardOptions options, long label, long... steps) {
        List<Long> from = Hvd.spawn(ranks, hvd -> {
            try (ShardedModelFit fit = ShardedModelFit.of(hvd, options);
                    Checkpoints checkpoints = fit.checkpoints(folder, hvd).build()) {
                long resumed = checkpoints.resumeLatest().map(Manifest::step).orElse(0L);
                checkpoints.requireWritable();
                for (long step : steps) {
                    fit.step(step);
                }
                checkpoints.saveAndWait(label, 0);
                return resumed;
            }
        });
        assertThat(from).containsOnly(from.get(0));
        return from.get(0);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void fourRanksGoOnAsThreeAsOneAndAsFourToTheBit(boolean third) throws IOException {
        FullyShardOptions options = third ? zero3() : FullyShardOptions.zero2();
        run(4, options, 3, 1, 2, 3);
        assertThat(set(3)).isDirectoryContaining("glob:**/model-00004-of-00004.safetensors");
        run(3, options, 4);
        assertThat(ShardedModelFit.joined(set(4)))
                .isEqualTo(ShardedModelFit.joined(set(3)))
                .containsKeys(
                        "block0.flat_param",
                        "flat_param.moment.exp_avg_sq",
                        "block1.flat_param.moment.step",
                        "buffer.block1.norm.running_var",
                        "learning_rate");
        run(1, options, 6, 5, 6);
        assertThat(run(4, options, 8, 7, 8)).isEqualTo(6);

        for (long step : List.of(3, 4, 6)) {
            CheckpointFolder.delete(set(step));
        }
        Files.move(set(8), folder.resolve("resumed"));
        run(4, options, 8, 1, 2, 3, 5, 6, 7, 8);
        assertThat(ShardedModelFit.joined(folder.resolve("resumed"))).isEqualTo(ShardedModelFit.joined(set(8)));
    }

    @Test
    void eachFileHasTheTensorsOfItsRankAlone() throws IOException {
        run(5, zero3(), 1, 1);
        for (int rank = 0; rank < 5; rank++) {
            Checkpoint file = Checkpoint.read(set(1).resolve("model-0000" + (rank + 1) + "-of-00005.safetensors"));
            String prefix = "optimizer.rank-" + rank + "-of-5.";
            assertThat(file.tensors().keySet()).hasSize(22).allMatch(name -> name.startsWith(prefix));
            assertThat(file.metadata())
                    .containsEntry("optimizer.kind", "FullyShard of AdamW")
                    .containsEntry("optimizer.ranks", "5");
            assertThat(file.metadata().get("optimizer.layout"))
                    .contains(
                            "flat_param last.bias float32[3] at 0\n",
                            "block1.flat_param block1.dense.weight float32[5, 5] at 8\n");
        }
    }

    @Test
    void aRankReadsTheElementsOfItsShardsAlone() throws IOException {
        run(1, zero3(), 1, 1);
        long whole = bytes(Checkpoint.read(set(1)).tensors());
        Hvd.spawn(4, hvd -> {
            try (ShardedModelFit fit = ShardedModelFit.of(hvd, zero3())) {
                long own = fit.optimizer.fullStateBytes();
                ResumableParts parts = fit.checkpoints(folder, hvd).parts();
                long read = bytes(Checkpoint.read(set(1), parts::needs).tensors());
                assertThat(read).isBetween(1L, own).isLessThan(whole / 2);
            }
            return null;
        });
        run(4, zero3(), 2);
        Hvd.spawn(4, hvd -> {
            try (ShardedModelFit fit = ShardedModelFit.of(hvd, zero3())) {
                ResumableParts parts = fit.checkpoints(folder, hvd).parts();
                String prefix = "optimizer.rank-" + hvd.rank() + "-of-4.";
                assertThat(Checkpoint.read(set(2), parts::needs).tensors().keySet())
                        .hasSize(22)
                        .allMatch(name -> name.startsWith(prefix));
            }
            return null;
        });
    }

    private static long bytes(SortedMap<String, Tensor> tensors) {
        return tensors.values().stream().mapToLong(Tensor::bytes).sum();
    }

    /** The one rank that cannot load must not come to other collectives than the others, which can. */
    @Test
    void aFileThatIsDamagedForOneRankIsRefusedOnAllAndTheyTrainOn() throws Exception {
        run(3, zero3(), 1, 1);
        run(3, zero3(), 2, 2);
        damage(set(2).resolve("model-00002-of-00003.safetensors"));
        assertThat(StandardError.during(() -> assertThat(run(3, zero3(), 3, 2)).isEqualTo(1)))
                .contains("rank 1: ", "model-00002-of-00003.safetensors");
    }

    private static void damage(Path file) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        bytes[bytes.length - 1] ^= 1;
        Files.write(file, bytes);
    }

    /** Moments that the other ranks had taken before rank 1 has failed could not be forgotten for a checkpoint that has none. */
    @Test
    void behindAFileThatIsDamagedForOneRankOneOfBeforeTheFirstStepIsTaken() throws Exception {
        run(3, zero3(), 0);
        run(3, zero3(), 1, 1);
        damage(set(1).resolve("model-00002-of-00003.safetensors"));
        Hvd.spawn(3, hvd -> {
            try (ShardedModelFit fit = ShardedModelFit.of(hvd, zero3());
                    Checkpoints checkpoints = fit.checkpoints(folder, hvd).build()) {
                assertThat(checkpoints.resumeLatest().map(Manifest::step)).hasValue(0L);
                assertThat(fit.optimizer.namedState().tensors().keySet())
                        .isNotEmpty()
                        .noneMatch(name -> name.contains(".moment."));
                fit.step(1);
                checkpoints.saveAndWait(2, 0);
            }
            return null;
        });
        CheckpointFolder.delete(set(1));
        Files.move(set(2), folder.resolve("behind the damaged one"));
        run(3, zero3(), 2, 1);
        assertThat(ShardedModelFit.joined(folder.resolve("behind the damaged one")))
                .isEqualTo(ShardedModelFit.joined(set(2)));
    }

    /** The file is whole, and what is in it does not fit on one rank alone. */
    @Test
    void shardsThatDoNotFitOnOneRankAreTakenByNone() throws Exception {
        run(3, zero3(), 0);
        run(3, zero3(), 1, 1);
        Path file = set(1).resolve("model-00002-of-00003.safetensors");
        Checkpoint share = Checkpoint.read(file);
        SortedMap<String, Tensor> tensors = new TreeMap<>(share.tensors());
        tensors.put("optimizer.rank-1-of-3.flat_param.layout", Tensor.of(new long[] {3, 1, 7, 7}));
        new Checkpoint(tensors, share.metadata()).withTensorSums().write(file);
        List<String> names = IntStream.rangeClosed(1, 3)
                .mapToObj(number -> SetIndex.fileName(number, 3))
                .toList();
        Files.write(set(1).resolve(SetIndex.NAME), SetIndex.of(set(1), names).encode());
        assertThat(StandardError.during(() -> assertThat(run(3, zero3(), 3)).isZero()))
                .contains("rank 1: ", "\"flat_param.layout\" is [3, 1, 7, 7], expected");
    }

    /** Running statistics of each rank are its own. */
    @Test
    void asManyRanksHaveTheirOwnBuffersAgain() {
        for (int time = 0; time < 2; time++) {
            boolean first = time == 0;
            Hvd.spawn(3, hvd -> {
                try (ShardedModelFit fit = ShardedModelFit.of(hvd, zero3());
                        Checkpoints checkpoints = fit.checkpoints(folder, hvd).build()) {
                    var mean = fit.blocks.get(1).norm.running_mean();
                    assertThat(checkpoints.resumeLatest().isEmpty()).isEqualTo(first);
                    if (first) {
                        mean.fill_(new Scalar(hvd.rank() + 1.0));
                        checkpoints.saveAndWait(1, 0);
                    }
                    assertThat(Models.floats(mean)).containsOnly(hvd.rank() + 1);
                }
                return null;
            });
        }
    }

    @Test
    void theRoomOfTheMomentsIsAskedForBeforeTheFirstStep() {
        Hvd.spawn(3, hvd -> {
            try (ShardedModelFit fit = ShardedModelFit.of(hvd, zero3())) {
                long full = fit.optimizer.fullStateBytes();
                assertThat(bytes(fit.optimizer.namedState().tensors())).isLessThan(full);
                fit.step(1);
                assertThat(bytes(fit.optimizer.namedState().tensors())).isEqualTo(full);
                assertThat(fit.optimizer.fullStateBytes()).isEqualTo(full);
            }
            return null;
        });
    }

    @Test
    void trainingGoesOnWhileTheShardsAreWrittenAndTheyAreThoseOfTheirStep() throws IOException {
        CountDownLatch mayWrite = new CountDownLatch(1);
        SeriesFiles.Output slow = (checkpoint, file) -> {
            try {
                mayWrite.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
            checkpoint.write(file);
        };
        Hvd.spawn(2, hvd -> {
            try (ShardedModelFit fit = ShardedModelFit.of(hvd, zero3());
                    Checkpoints checkpoints =
                            fit.checkpoints(folder, hvd).output(slow).build()) {
                checkpoints.resumeLatest();
                fit.step(1);
                checkpoints.save(1, 0);
                fit.step(2);
                checkpoints.save(2, 0); // is left out
                hvd.barrier();
                mayWrite.countDown();
            }
            return null;
        });
        Files.move(set(1), folder.resolve("background"));
        run(2, zero3(), 1, 1);
        assertThat(ShardedModelFit.joined(folder.resolve("background"))).isEqualTo(ShardedModelFit.joined(set(1)));
    }

    /** In a state both a unit's shard and the root's buffers may begin with this word. */
    @ParameterizedTest
    @ValueSource(strings = {"buffer", "buffer.of"})
    void aUnitMayBeCalledBuffer(String unit) throws IOException {
        train(2, unit, 0, 1);
        train(3, unit, 1, 1);
        assertThat(set(1)).isDirectoryContaining("glob:**/model-00003-of-00003.safetensors");
        train(2, unit, 1, 2);
        assertThat(ShardedModelFit.joined(set(2)))
                .containsKeys(
                        unit + ".flat_param",
                        unit + ".flat_param.moment.exp_avg",
                        "buffer." + unit + ".norm.running_mean",
                        "buffer.block1.norm.running_mean");
        Files.move(set(2), folder.resolve("resumed"));
        CheckpointFolder.delete(set(1));
        train(2, unit, 0, 2);
        assertThat(ShardedModelFit.joined(folder.resolve("resumed"))).isEqualTo(ShardedModelFit.joined(set(2)));
    }

    /** Trains from one step, at which a checkpoint must be if it is not 0, to another one and saves that. */
    private void train(int ranks, String unit, long from, long to) {
        Hvd.spawn(ranks, hvd -> {
            try (ShardedModelFit fit = fit(hvd, 5, unit, "block1");
                    Checkpoints checkpoints = fit.checkpoints(folder, hvd).build()) {
                assertThat(checkpoints.resumeLatest().map(Manifest::step).orElse(0L))
                        .isEqualTo(from);
                for (long step = from; step < to; ) {
                    fit.step(++step);
                }
                checkpoints.saveAndWait(to, 0);
            }
            return null;
        });
    }

    /** Memory that a save takes beside the copy that is written: none of the shards' size. */
    @Test
    void whatIsSavedIsTheTrainingsOwnMemory() {
        Hvd.spawn(2, hvd -> {
            try (ShardedModelFit fit = ShardedModelFit.of(hvd, zero3())) {
                fit.step(1);
                SortedMap<String, Tensor> views = fit.optimizer.namedState().tensors();
                String prefix = "rank-" + hvd.rank() + "-of-2.block0.flat_param";
                float[] shard = views.get(prefix).toFloatArray();
                float[] moment = views.get(prefix + ".moment.exp_avg").toFloatArray();
                fit.step(2);
                assertThat(views.get(prefix).toFloatArray()).isNotEqualTo(shard);
                assertThat(views.get(prefix + ".moment.exp_avg").toFloatArray()).isNotEqualTo(moment);
            }
            return null;
        });
    }

    /** Makes a model that the checkpoint is not of. */
    private record Other(String how, Function<HvdContext, ShardedModelFit> make, String... words) {}

    private static ShardedModelFit fit(HvdContext hvd, int width, String... names) {
        return new ShardedModelFit(hvd, zero3(), width, List.of(names), ShardedModelFit.ADAMW);
    }

    @Test
    void statesOfOtherModelsAreRefusedInASentenceOnAllRanks() {
        run(2, zero3(), 1, 1);
        List<Other> others = List.of(
                new Other(
                        "a renamed unit",
                        hvd -> fit(hvd, 5, "block0", "layer1"),
                        "\"block1.flat_param block1.dense.bias float32[5] at 0\" where this optimizer has",
                        "\"layer1.flat_param layer1.dense.bias float32[5] at 0\""),
                new Other(
                        "one unit less",
                        hvd -> fit(hvd, 5, "block0"),
                        "\"block1.flat_param block1.dense.bias float32[5] at 0\" where this optimizer has",
                        "\"flat_param last.bias float32[3] at 0\""),
                new Other(
                        "one unit more",
                        hvd -> fit(hvd, 5, "block0", "block1", "block2"),
                        "\"flat_param last.bias float32[3] at 0\" where this optimizer has",
                        "\"block2.flat_param block2.dense.bias float32[5] at 0\""),
                new Other(
                        "other shapes",
                        hvd -> fit(hvd, 6, "block0", "block1"),
                        "\"block0.flat_param block0.dense.bias float32[5] at 0\" where this optimizer has",
                        "\"block0.flat_param block0.dense.bias float32[6] at 0\""),
                new Other(
                        "another optimizer",
                        hvd -> new ShardedModelFit(
                                hvd,
                                zero3(),
                                5,
                                List.of("block0", "block1"),
                                shards -> new Adam(shards, new AdamOptions(0.01))),
                        "\"FullyShard of AdamW\" where this optimizer has \"FullyShard of Adam\""));
        for (Other other : others) {
            Hvd.spawn(3, hvd -> {
                try (ShardedModelFit fit = other.make.apply(hvd);
                        Checkpoints checkpoints = fit.checkpoints(folder, hvd).build()) {
                    assertThatThrownBy(checkpoints::resumeLatest)
                            .as(other.how)
                            .isInstanceOfSatisfying(
                                    HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.NO_VALID_CHECKPOINT))
                            .hasMessageContainingAll(other.words);
                    fit.step(1); // the ranks are still together
                }
                return null;
            });
        }
    }

    @Test
    void checkpointsOfWholeParametersAndOfShardsAreRefusedByEachOther() throws Exception {
        run(2, zero3(), 1, 1);
        Hvd.spawn(1, hvd -> {
            LineFit whole = new LineFit(hvd);
            try (Checkpoints checkpoints = whole.checkpoints(folder).build()) {
                assertThatThrownBy(checkpoints::resumeLatest).isInstanceOf(HvdException.class);
            }
            return null;
        });
        CheckpointFolder.delete(set(1));
        Hvd.spawn(2, hvd -> {
            LineFit whole = new LineFit(hvd);
            try (Checkpoints checkpoints =
                    whole.checkpoints(folder).everyRankWrites().build()) {
                checkpoints.resumeLatest();
                checkpoints.saveAndWait(2, 0);
            }
            try (ShardedModelFit fit = ShardedModelFit.of(hvd, zero3());
                    Checkpoints checkpoints =
                            fit.checkpoints(folder, hvd).config("data", "line").build()) {
                assertThatThrownBy(checkpoints::resumeLatest)
                        .hasMessageContainingAll("it is not of a FullyShard", "with whole parameters");
            }
            return null;
        });
    }

    @Test
    void whatDoesNotGoWithShardsIsRefusedWhenTheSeriesIsMade() {
        Hvd.spawn(2, hvd -> {
            try (ShardedModelFit fit = ShardedModelFit.of(hvd, zero3())) {
                UnaryOperator<CheckpointsBuilder> everyRank = CheckpointsBuilder::everyRankWrites;
                assertRefused(hvd, fit, builder -> builder, "every parameter, so each of them", "everyRankWrites()");
                assertRefused(
                        hvd,
                        fit,
                        everyRank.andThen(builder -> builder.model(() -> fit.shard.shards(), saved -> {}))::apply,
                        "model(...)");
                assertRefused(
                        hvd, fit, everyRank.andThen(builder -> builder.renamed("old", "new"))::apply, "{old=new}");
                ThrowingCallable elastic =
                        () -> TrainingState.of(given -> fit.optimizer).build().sync(hvd, 0);
                assertThatThrownBy(elastic)
                        .isInstanceOfSatisfying(
                                HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.UNSUPPORTED))
                        .hasMessageContainingAll("a TrainingState of an optimizer of FullyShard", "everyRankWrites()");
            }
            return null;
        });
    }

    /** Two models of two ranks each, or checkpoints that leave half of the shards out. */
    @Test
    void checkpointsOfOtherRanksThanTheShardsAreRefusedWhenTheSeriesIsMade() {
        Hvd.spawn(4, InitOptions.standard().withDynamicProcessSets(), hvd -> {
            ProcessSet low = hvd.addProcessSet(List.of(0, 1));
            ProcessSet high = hvd.addProcessSet(List.of(2, 3));
            ProcessSet mine = hvd.rank() < 2 ? low : high;
            try (ShardedModelFit fit = ShardedModelFit.of(mine, zero3())) {
                assertRefused(
                        hvd,
                        fit,
                        CheckpointsBuilder::everyRankWrites,
                        "the ranks " + mine.ranks() + " have its shards, and the ranks [0, 1, 2, 3] were to save them");
                Path own = folder.resolve("of" + mine.ranks().get(0));
                try (Checkpoints checkpoints = fit.checkpoints(own, mine).build()) {
                    checkpoints.resumeLatest();
                    checkpoints.requireWritable();
                    fit.step(1);
                    checkpoints.saveAndWait(1, 0);
                    assertThat(new CheckpointFolder(own).set(1))
                            .isDirectoryContaining("glob:**/model-00002-of-00002.safetensors");
                }
            }
            try (ShardedModelFit fit = ShardedModelFit.of(hvd, zero3())) {
                if (hvd.rank() < 2) {
                    assertRefused(
                            low,
                            fit,
                            CheckpointsBuilder::everyRankWrites,
                            "the ranks [0, 1, 2, 3] have its shards, and the ranks [0, 1] were to save them: expected the same");
                }
            }
            return null;
        });
    }

    private void assertRefused(
            ProcessSet ranks, ShardedModelFit fit, UnaryOperator<CheckpointsBuilder> more, String... words) {
        assertThatThrownBy(() ->
                        more.apply(Checkpoints.in(folder, ranks, fit.optimizer)).build())
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                .hasMessageContaining("of an optimizer of FullyShard: ")
                .hasMessageContainingAll(words);
    }

    /** Ranks of another number deal the rest of the epoch, and the state is that of a training without an end. */
    @Test
    void aLoopWithAutoResumeGoesOnInTheMiddleOfAnEpoch() throws IOException {
        assertThat(loop(2, 4, folder)).isEqualTo(4);
        assertThat(loop(4, Long.MAX_VALUE, folder)).isEqualTo(8);
        assertThat(loop(1, 8, folder.resolve("at once"))).isEqualTo(8);
        assertThat(ShardedModelFit.joined(set(8)))
                .isEqualTo(ShardedModelFit.joined(new CheckpointFolder(folder.resolve("at once")).set(8)));
    }

    /** @return steps over all runs */
    private static long loop(int ranks, long mostSteps, Path folder) {
        return Hvd.spawn(ranks, hvd -> {
                    Dataset<Integer> points =
                            Dataset.of(IntStream.range(0, 24).boxed().toList());
                    var sampler =
                            ElasticSampler.builder(24, hvd.size(), hvd.rank()).build();
                    try (ShardedModelFit fit = ShardedModelFit.of(hvd, zero3());
                            var loader = DataLoader.<Integer, List<Integer>>builder(points, sampler, List::copyOf)
                                    .batchSize(2)
                                    .build();
                            Checkpoints checkpoints = fit.checkpoints(folder, hvd)
                                    .with("sampler", sampler)
                                    .build()) {
                        Training end = TrainingLoop.of(hvd, fit.optimizer)
                                .with(new LearningRate(epoch -> 0.01))
                                .with(AutoResume.everySteps(3, checkpoints, sampler))
                                .maxSteps(mostSteps)
                                .run(2, loader, (batch, training) -> fit.step(training.steps() + 1));
                        return end.steps();
                    }
                })
                .get(0);
    }

    /** SIGTERM between two backward passes waits for their step. */
    @Test
    void theEndOfALoopWaitsForTheStepOfItsPasses() {
        List<Long> ended = Hvd.spawn(2, hvd -> {
            Dataset<Integer> points = Dataset.of(IntStream.range(0, 24).boxed().toList());
            var sampler = ElasticSampler.builder(24, hvd.size(), hvd.rank()).build();
            List<Long> steps = new ArrayList<>();
            try (ShardedModelFit fit = ShardedModelFit.of(hvd, zero3());
                    var loader = DataLoader.<Integer, List<Integer>>builder(points, sampler, List::copyOf)
                            .batchSize(2)
                            .build();
                    Checkpoints checkpoints = fit.checkpoints(folder, hvd)
                            .with("sampler", sampler)
                            .build()) {
                AutoResume autoResume = AutoResume.everySteps(100, checkpoints, sampler);
                Training end = TrainingLoop.of(hvd, fit.optimizer)
                        .with(autoResume)
                        .run(1, loader, (batch, training) -> {
                            if (training.batch() % 2 == 1) {
                                fit.step(training.steps() + 1);
                                steps.add(training.steps() + 1);
                            }
                            if (training.batch() == 2) {
                                autoResume.signal().raise();
                            }
                        });
                assertThat(autoResume.wasTerminated()).isTrue();
                assertThat(steps.get(steps.size() - 1)).isEqualTo(end.steps());
                return end.steps();
            }
        });
        assertThat(ended).containsOnly(4L);
    }
}
