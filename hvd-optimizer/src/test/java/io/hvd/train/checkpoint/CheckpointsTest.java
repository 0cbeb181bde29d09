package io.hvd.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.ElasticSampler;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.Adam;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.Sgd;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.optimizer.StateSize;
import io.hvd.tensor.Tensor;
import io.hvd.testing.StandardError;
import io.hvd.train.Checkpoint;
import io.hvd.train.EarlyStop;
import io.hvd.train.Goal;
import io.hvd.train.MeanMetric;
import io.hvd.train.Plateau;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** On ranks that are threads of this JVM. */
@Timeout(60)
class CheckpointsTest {
    @TempDir
    Path folder;

    /** A model of one array with Adam around it, and a series of its checkpoints. */
    private static final class Model implements AutoCloseable {
        final float[] weights = new float[300];
        final float[] gradients = new float[300];
        final HvdContext hvd;
        final ElasticSampler sampler;
        final DistributedOptimizer optimizer;
        final Checkpoints checkpoints;

        Model(HvdContext hvd, Path folder, UnaryOperator<CheckpointsBuilder> more) {
            this.hvd = hvd;
            sampler = ElasticSampler.builder(100, hvd.size(), hvd.rank()).build();
            optimizer = DistributedOptimizer.wrap(new Adam(new ArrayParameters().add("w", weights, gradients), 0.1))
                    .build();
            checkpoints = more.apply(Checkpoints.in(folder, hvd, optimizer)
                            .with("sampler", sampler)
                            .config("data", "numbers")
                            .keep(2))
                    .build();
        }

        void step() {
            Arrays.fill(gradients, hvd.rank() + 1f);
            optimizer.step();
            sampler.recordBatch(1);
        }

        @Override
        public void close() {
            checkpoints.close();
        }
    }

    private void save(int ranks, int... steps) {
        Hvd.spawn(ranks, hvd -> {
            try (Model model = new Model(hvd, folder, builder -> builder)) {
                model.optimizer.broadcastParameters(0);
                for (int step : steps) {
                    model.step();
                    model.checkpoints.saveAndWait(step, 0);
                }
            }
            return null;
        });
    }

    private Path file(long step) {
        return new CheckpointFolder(folder).file(step);
    }

    private Optional<Manifest> resume(int ranks) {
        return Hvd.spawn(ranks, hvd -> {
                    try (Model model = new Model(hvd, folder, builder -> builder)) {
                        return model.checkpoints.resumeLatest();
                    }
                })
                .get(ranks - 1);
    }

    @Test
    void anEmptyFolderAndOneThatIsNotThereGiveNothingToResume() {
        assertThat(resume(2)).isEmpty();
        assertThat(Hvd.spawn(
                                1,
                                hvd -> new Model(hvd, folder.resolve("none"), builder -> builder)
                                        .checkpoints.resumeLatest())
                        .get(0))
                .isEmpty();
        assertThat(folder.resolve("none")).doesNotExist();
    }

    @Test
    void theNewestIsTakenOverByAllOfAnotherNumberOfRanksWithItsManifest() {
        save(4, 10, 20, 30);
        assertThat(folder).isDirectoryNotContaining(file -> file.equals(file(10)));
        List<float[]> expected = Hvd.spawn(1, hvd -> {
            try (Model model = new Model(hvd, folder.resolve("other"), builder -> builder)) {
                for (int i = 0; i < 4; i++) {
                    Arrays.fill(model.gradients, 2.5f);
                    model.optimizer.step();
                }
                return model.weights;
            }
        });

        List<float[]> resumed = Hvd.spawn(3, hvd -> {
            try (Model model = new Model(hvd, folder, builder -> builder)) {
                Manifest manifest = model.checkpoints.resumeLatest().orElseThrow();
                assertThat(manifest.step()).isEqualTo(30);
                assertThat(manifest.worldSize()).isEqualTo(4);
                assertThat(manifest.part("version"))
                        .containsEntry("java", Runtime.version().toString());
                assertThat(manifest.part("config")).containsExactly(Map.entry("data", "numbers"));
                assertThat(model.sampler.position()).isEqualTo(12);
                Arrays.fill(model.gradients, 2.5f);
                model.optimizer.step();
                return model.weights;
            }
        });
        assertThat(resumed).allSatisfy(weights -> assertThat(weights).isEqualTo(expected.get(0)));
    }

    @Test
    void aTornNewestIsRefusedWithTheBytesThatAreMissingAndTheOneBeforeIsTaken() throws Exception {
        save(2, 10, 20);
        long size = Files.size(file(20));
        try (FileChannel channel = FileChannel.open(file(20), StandardOpenOption.WRITE)) {
            channel.truncate(size - 100);
        }
        String said = StandardError.during(
                () -> assertThat(resume(3).orElseThrow().step()).isEqualTo(10));
        assertThat(said)
                .contains(file(20).toString(), "from byte " + (size - 100) + " to " + size, "tensor \"")
                .contains("going on from " + file(10));
    }

    private static void flip(Path file, long at) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        bytes[(int) at] ^= 1;
        Files.write(file, bytes);
    }

    @Test
    void aChangedTensorIsNamedWithItsPlaceInTheFile() throws Exception {
        save(1, 10, 20);
        long size = Files.size(file(20));
        flip(file(20), size - 3);
        String said = StandardError.during(
                () -> assertThat(resume(1).orElseThrow().step()).isEqualTo(10));
        assertThat(said)
                .contains(
                        "CRC-32C",
                        "Damaged: tensor \"optimizer.exp_avg_sq.w\" (bytes ",
                        " to " + size + " of the file)")
                .doesNotContain("tensor \"model.w\"");
    }

    @Test
    void aChangedFieldIsFoundInTheHeaderAndAFileUnderAnotherNameByItsStep() throws Exception {
        save(1, 10, 20);
        String text = Files.readString(file(20), java.nio.charset.StandardCharsets.ISO_8859_1);
        Files.writeString(
                file(20),
                text.replace("\"sampler.position\":\"2\"", "\"sampler.position\":\"1\""),
                java.nio.charset.StandardCharsets.ISO_8859_1);
        Files.copy(file(10), file(30));
        String said = StandardError.during(
                () -> assertThat(resume(1).orElseThrow().step()).isEqualTo(10));
        assertThat(said)
                .contains("the header was changed, which is bytes 0 to ")
                .contains("\"step\" is \"10\", expected 30");
    }

    @Test
    void whereNoneCanBeResumedAllRanksAreToldEachReason() throws Exception {
        save(2, 10, 20);
        flip(file(10), Files.size(file(10)) - 1);
        new Checkpoint(new TreeMap<>(Map.of("w", Tensor.of(1f))), Map.of()).write(file(20));
        new Checkpoint(
                        Checkpoint.read(file(20)).tensors(),
                        Map.of(
                                "manifest",
                                "1",
                                "step",
                                "30",
                                "epoch",
                                "0",
                                "world_size",
                                "2",
                                "config.data",
                                "letters"))
                .write(file(30));
        Hvd.spawn(3, hvd -> {
            try (Model model = new Model(hvd, folder, builder -> builder)) {
                assertThatThrownBy(model.checkpoints::resumeLatest)
                        .isInstanceOfSatisfying(
                                HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.NO_VALID_CHECKPOINT))
                        .hasMessageContainingAll(
                                "none of the 3",
                                file(10) + "",
                                "optimizer.exp_avg_sq.w",
                                file(20) + "",
                                "\"manifest\" is missing",
                                file(30) + "",
                                "\"config.data\" is \"letters\", expected \"numbers\"");
            }
            return null;
        });
    }

    @Test
    void aCheckpointOfAnotherModelOrSamplerIsRefusedByTheField() {
        save(1, 10);
        Hvd.spawn(1, hvd -> {
            var other = DistributedOptimizer.wrap(
                            new Sgd(new ArrayParameters().add("v", new float[300], new float[300]), 1))
                    .build();
            assertThatThrownBy(() -> Checkpoints.in(folder, hvd, other)
                            .config("data", "numbers")
                            .build()
                            .resumeLatest())
                    .hasMessageContainingAll("HVD-503", "another model", "[w]", "[v]");
            var sampler = ElasticSampler.builder(99, 1, 0).build();
            try (Model model = new Model(hvd, folder, builder -> builder.with("sampler", sampler))) {
                assertThatThrownBy(model.checkpoints::resumeLatest)
                        .hasMessageContainingAll("HVD-503", "\"samples\" is \"100\", expected 99");
            }
            return null;
        });
    }

    @Test
    void theTrainingGoesOnWhileOneIsWrittenAndTheFileHasTheStateOfItsStep() {
        CountDownLatch mayWrite = new CountDownLatch(1);
        Hvd.spawn(2, hvd -> {
            SeriesFiles.Output slow = (checkpoint, file) -> {
                try {
                    mayWrite.await();
                } catch (InterruptedException e) {
                    throw new IOException(e);
                }
                checkpoint.write(file);
            };
            try (Model model = new Model(hvd, folder, builder -> builder.output(slow))) {
                model.optimizer.broadcastParameters(0);
                model.step();
                float then = model.weights[7];
                model.checkpoints.save(1, 0);
                model.step();
                model.checkpoints.save(2, 0); // is left out
                model.step();
                assertThat(folder).isEmptyDirectory();
                hvd.barrier();
                mayWrite.countDown();
                model.checkpoints.saveAndWait(3, 0); // waits for the first one
                if (hvd.rank() == 0) {
                    assertThat(folder).isDirectoryNotContaining(file -> file.equals(file(2)));
                    assertThat(Checkpoint.read(file(1)).tensors().get("model.w").toFloatArray()[7])
                            .isEqualTo(then)
                            .isNotEqualTo(model.weights[7]);
                    assertThat(Checkpoint.read(file(3)).tensors().get("model.w").toFloatArray())
                            .isEqualTo(model.weights);
                }
            }
            return null;
        });
    }

    @Test
    void aFullDiskShowsAtTheNextCallWithFileRoomAndTheCheckpointThatStays() {
        save(1, 10);
        Hvd.spawn(1, hvd -> {
            SeriesFiles.Output full = (checkpoint, file) -> {
                throw new IOException("No space left on device");
            };
            try (Model model = new Model(hvd, folder, builder -> builder.output(full))) {
                model.checkpoints.resumeLatest();
                model.checkpoints.save(20, 0);
                assertThatThrownBy(() -> model.checkpoints.saveAndWait(30, 0))
                        .isInstanceOfSatisfying(
                                HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.CHECKPOINT_NOT_WRITTEN))
                        .hasMessageContainingAll(
                                file(20) + "", "bytes", "room for", "No space left on device", file(10) + " stays")
                        .hasRootCauseMessage("No space left on device");
            }
            return null;
        });
        assertThat(resume(2).orElseThrow().step()).isEqualTo(10);
    }

    @Test
    void parametersThatEachRankHasForItselfAreRefusedBeforeAnythingIsTrained() {
        Hvd.spawn(2, hvd -> {
            var parameters = new ArrayParameters()
                    .add("shared", new float[2], new float[2])
                    .add("own", new float[1], new float[1]);
            var optimizer = DistributedOptimizer.wrap(new Sgd(parameters, 0.1))
                    .localParameters(List.of("own"))
                    .build();
            assertThatThrownBy(() -> Checkpoints.in(folder, hvd, optimizer).build())
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                    .hasMessageContainingAll(folder.toString(), "localParameters(...) [own]", "first rank's only");
            return null;
        });
        assertThat(folder).isEmptyDirectory();
    }

    /** Made up, since a real one takes gigabytes: what AdamW says of 300 million parameters. */
    @Test
    void aStateThatIsTooLargeForAFileShowsOnAllRanksBeforeTheFirstStep() {
        Hvd.spawn(2, hvd -> {
            Optimizer large = new Optimizer() {
                private final Optimizer small = new Sgd(new ArrayParameters().add("w", new float[1], new float[1]), 1);

                @Override
                public List<Parameter> parameters() {
                    return small.parameters();
                }

                @Override
                public void step() {}

                @Override
                public void zeroGradients() {}

                @Override
                public double learningRate() {
                    return 1;
                }

                @Override
                public void learningRate(double rate) {}

                @Override
                public byte[] saveState() {
                    return new byte[StateSize.require("AdamW", 8 * 300_000_000L)];
                }

                @Override
                public void loadState(byte[] state) {}
            };
            try (Checkpoints checkpoints =
                    Checkpoints.in(folder.resolve("new"), hvd, large).build()) {
                assertThatThrownBy(checkpoints::resumeLatest)
                        .hasMessageContainingAll(
                                folder.toString(),
                                "before the first step",
                                "AdamW has 2400000000 bytes",
                                "at most 2147483639");
            }
            return null;
        });
    }

    @Test
    void aFailureOfTheLastOneShowsWhenTheSeriesIsClosed() {
        Hvd.spawn(1, hvd -> {
            Model model = new Model(
                    hvd,
                    folder,
                    builder -> builder.output((checkpoint, file) -> {
                        throw new IOException("the disk is gone");
                    }));
            model.checkpoints.save(20, 0);
            assertThatThrownBy(model::close).hasMessageContainingAll("HVD-502", "the disk is gone", "none before it");
            return null;
        });
    }

    @Test
    void aRunThatDoesNotResumeLeavesTheLaterFilesOfAnotherOneAlone() {
        save(1, 10, 20);
        Hvd.spawn(1, hvd -> {
            try (Model model = new Model(hvd, folder, builder -> builder)) {
                assertThatThrownBy(() -> model.checkpoints.save(5, 0))
                        .hasMessageContainingAll("HVD-202", folder.toString(), "up to step 20", "resumeLatest()");
            }
            return null;
        });
        assertThat(file(20)).exists();
    }

    @Test
    void refusedLaterFilesDoNotCountAmongThoseThatAreKept() throws Exception {
        save(1, 10, 20);
        flip(file(20), Files.size(file(20)) - 1);
        Hvd.spawn(1, hvd -> {
            try (Model model = new Model(hvd, folder, builder -> builder)) {
                model.checkpoints.resumeLatest();
                model.checkpoints.saveAndWait(12, 0);
                model.checkpoints.saveAndWait(14, 0);
            }
            return null;
        });
        assertThat(new CheckpointFolder(folder).steps()).containsExactly(20L, 14L, 12L);
        assertThat(resume(1).orElseThrow().step()).isEqualTo(14);
    }

    @Test
    void stateThatIsSharedOutGoesIntoTheFileAsAWhole() {
        for (int ranks : new int[] {3, 2}) {
            List<float[]> weights = Hvd.spawn(ranks, hvd -> {
                float[] a = new float[5];
                float[] b = new float[4];
                float[] ga = new float[5];
                float[] gb = new float[4];
                var sharded = ShardedOptimizer.ofArrays(
                        hvd, new ArrayParameters().add("a", a, ga).add("b", b, gb), share -> new Adam(share, 0.1));
                var optimizer = DistributedOptimizer.wrap(sharded).build();
                try (Checkpoints checkpoints = Checkpoints.in(folder, hvd, optimizer)
                        .after(() -> sharded.consolidate(0))
                        .build()) {
                    long step = checkpoints.resumeLatest().map(Manifest::step).orElse(0L);
                    assertThat(step).isEqualTo(ranks == 3 ? 0 : 2);
                    optimizer.broadcastParameters(0);
                    for (int i = 0; i < 2; i++) {
                        Arrays.fill(ga, 1);
                        Arrays.fill(gb, (float) (step + i));
                        optimizer.step();
                    }
                    checkpoints.saveAndWait(step + 2, 0);
                }
                return b;
            });
            assertThat(weights).allSatisfy(b -> assertThat(b).isEqualTo(weights.get(0)));
        }
        assertThat(Hvd.spawn(1, hvd -> {
                            float[] a = new float[5];
                            float[] b = new float[4];
                            float[] ga = new float[5];
                            float[] gb = new float[4];
                            var plain = new Adam(
                                    new ArrayParameters().add("a", a, ga).add("b", b, gb), 0.1);
                            for (int i = 0; i < 4; i++) {
                                Arrays.fill(ga, 1);
                                Arrays.fill(gb, i);
                                plain.step();
                            }
                            return b;
                        })
                        .get(0))
                .isEqualTo(savedWeights(4));
    }

    private float[] savedWeights(int step) {
        try {
            return Checkpoint.read(file(step)).tensors().get("model.b").toFloatArray();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    @Test
    void whatAnEarlyStopAndAPlateauHaveSeenComesBack() {
        Plateau plateau = new Plateau(Goal.smallest("loss"), 0.5, 0, 0);
        plateau.factorAfter(new MeanMetric.Result(1, 1));
        plateau.factorAfter(new MeanMetric.Result(2, 1));
        EarlyStop stop = new EarlyStop(Goal.smallest("loss"), 5);
        Hvd.spawn(1, hvd -> {
            try (Model model = new Model(
                    hvd, folder, builder -> builder.with("plateau", plateau).with("early_stop", stop))) {
                model.checkpoints.saveAndWait(1, 0);
            }
            return null;
        });
        Plateau fresh = new Plateau(Goal.smallest("loss"), 0.5, 0, 0);
        EarlyStop freshStop = new EarlyStop(Goal.smallest("loss"), 5);
        Hvd.spawn(1, hvd -> {
            try (Model model = new Model(
                    hvd, folder, builder -> builder.with("plateau", fresh).with("early_stop", freshStop))) {
                model.checkpoints.resumeLatest();
            }
            return null;
        });
        assertThat(fresh.factor()).isEqualTo(0.5);
        assertThat(fresh.saveState()).isEqualTo(plateau.saveState());
        assertThat(freshStop.saveState()).isEqualTo(stop.saveState()).containsEntry("best", "NaN");
        assertThatThrownBy(() -> new EarlyStop(Goal.smallest("error"), 5).loadState(stop.saveState()))
                .hasMessageContainingAll("EarlyStop", "\"metric\" is \"loss\", expected error");
    }

    /** Languages with digits of their own, and those in which letters change their case in another way. */
    @ParameterizedTest
    @ValueSource(strings = {"ar-EG", "fa-IR", "mr-IN", "my-MM", "ne-NP", "tr-TR", "lt-LT", "th-TH-u-nu-thai"})
    void aSeriesIsFoundAgainInEveryLanguage(String tag) {
        Locale before = Locale.getDefault();
        Locale.setDefault(Locale.forLanguageTag(tag));
        try {
            save(2, 7, 1200);
            assertThat(resume(2).map(Manifest::step)).contains(1200L);
        } finally {
            Locale.setDefault(before);
        }
        assertThat(folder.resolve("step-0000001200.safetensors")).isRegularFile();
        assertThat(resume(1).map(Manifest::step)).contains(1200L);
    }

    @Test
    void aNamedPipeAndAFolderUnderTheNameOfACheckpointArePassedOver() throws Exception {
        save(1, 10);
        assertThat(new ProcessBuilder("mkfifo", file(99).toString()).start().waitFor())
                .isZero();
        Files.createDirectory(file(98));

        String said = StandardError.during(
                () -> assertThat(resume(2).map(Manifest::step)).contains(10L));

        assertThat(said).contains(file(99) + ": is a named pipe", file(98) + ": is a folder");
    }

    /** /proc lets nobody make a folder, root neither. */
    @Test
    void aFolderThatCannotBeWrittenIsSaidByAllRanksWithWhatToDo() {
        Path nobodys = Path.of("/proc/hvd-checkpoints");
        List<String> said = Hvd.spawn(2, hvd -> {
            try (Model model = new Model(hvd, nobodys, builder -> builder)) {
                return catchThrowableOfType(HvdException.class, model.checkpoints::requireWritable)
                        .getMessage();
            }
        });
        assertThat(said)
                .hasSize(2)
                .allSatisfy(one -> assertThat(one)
                        .contains(
                                "HVD-502",
                                "can be written to " + nobodys,
                                "name another folder",
                                "before the first step"));
        Hvd.spawn(1, hvd -> {
            try (Model model = new Model(hvd, nobodys, builder -> builder)) {
                assertThatThrownBy(() -> model.checkpoints.save(1, 0))
                        .isInstanceOf(HvdException.class)
                        .hasMessageContainingAll("HVD-502", nobodys.toString(), "name another folder");
            }
            return null;
        });
    }
}
