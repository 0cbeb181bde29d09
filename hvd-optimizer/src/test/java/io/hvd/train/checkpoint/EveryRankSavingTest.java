package io.hvd.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.AdamW;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.optimizer.torch.Models;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import io.hvd.testing.StandardError;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.bytedeco.pytorch.AdamWOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Ranks that are threads of this JVM, each of which writes its share of a checkpoint. */
@Timeout(120)
class EveryRankSavingTest {
    @TempDir
    Path folder;

    /** What is trained; the gradients are the sum over ranks of which one alone has any, so that their number changes no bit. */
    enum Kind {
        ARRAYS,
        SHARED_ARRAYS,
        MIXED,
        SHARED_MIXED,
        TORCH,
        SHARED_TORCH
    }

    private static final int[] LENGTHS = {700, 3, 1, 90, 40, 260};

    /** A training of arrays or of a LibTorch model. */
    private final class Fit implements AutoCloseable {
        final HvdContext hvd;
        final Kind kind;
        final SortedMap<String, Tensor> values = new TreeMap<>();
        final List<float[]> gradients = new ArrayList<>();
        final DistributedOptimizer optimizer;
        final Optimizer outermost;
        final Checkpoints checkpoints;
        private Models.Net net;
        private ShardedOptimizer shared;

        Fit(HvdContext hvd, Kind kind, UnaryOperator<CheckpointsBuilder> more) {
            this.hvd = hvd;
            this.kind = kind;
            optimizer = DistributedOptimizer.wrap(inner())
                    .context(hvd)
                    .op(ReduceOp.SUM)
                    .build();
            outermost =
                    kind.name().contains("MIXED") ? AmpOptimizer.wrap(optimizer).build() : optimizer;
            checkpoints = more.apply(Checkpoints.in(folder, hvd, outermost)
                            .model(() -> values, saved -> ResumableParts.overwrite(values, saved))
                            .everyRankWrites()
                            .keep(2))
                    .build();
            optimizer.broadcastParameters(0);
        }

        private Optimizer inner() {
            if (kind.name().contains("TORCH")) {
                net = new Models.Net(7);
                values.putAll(TorchTensors.parameters(net));
                if (kind == Kind.TORCH) {
                    return new TorchOptimizer(adamW(net.parameters()), net.named_parameters());
                }
                shared = TorchOptimizer.sharded(hvd, net.named_parameters(), EveryRankSavingTest::adamW);
                return shared;
            }
            ArrayParameters parameters = new ArrayParameters();
            for (int i = 0; i < LENGTHS.length; i++) {
                float[] value = new float[LENGTHS[i]];
                gradients.add(new float[LENGTHS[i]]);
                parameters.add("layer" + i + ".w", value, gradients.get(i));
                values.put("layer" + i + ".w", Tensor.of(value));
            }
            if (!kind.name().startsWith("SHARED")) {
                return new AdamW(parameters, 0.1);
            }
            shared = ShardedOptimizer.ofArrays(hvd, parameters, share -> new AdamW(share, 0.1));
            return shared;
        }

        void step(long step) {
            outermost.zeroGradients();
            if (outermost instanceof AmpOptimizer amp) {
                amp.backward(scale -> fill(step, share() * scale));
            } else if (net != null) {
                TorchOptimizer.backward(net.loss((int) step, (int) step + 1), share());
            } else {
                fill(step, share());
            }
            outermost.step();
        }

        private int share() {
            return hvd.rank() == 0 ? 1 : 0;
        }

        private void fill(long step, double factor) {
            for (int i = 0; i < gradients.size(); i++) {
                float[] gradient = gradients.get(i);
                for (int j = 0; j < gradient.length; j++) {
                    gradient[j] = (float) (factor * (Math.floorMod(31 * j + 7 * i + 3 * step, 17) - 8));
                }
            }
        }

        /** Goes on to a step and saves that. */
        void trainTo(long last) throws IOException {
            long step = checkpoints.resumeLatest().map(Manifest::step).orElse(0L);
            while (step < last) {
                step(++step);
            }
            checkpoints.saveAndWait(last, 0);
        }

        String bits() {
            StringBuilder all = new StringBuilder();
            values.forEach((name, value) -> {
                all.append('\n').append(name);
                for (float each : value.toFloatArray()) {
                    all.append(' ').append(Integer.toHexString(Float.floatToRawIntBits(each)));
                }
            });
            return all.toString();
        }

        @Override
        public void close() {
            checkpoints.close();
        }
    }

    private static org.bytedeco.pytorch.AdamW adamW(org.bytedeco.pytorch.TensorVector parameters) {
        return new org.bytedeco.pytorch.AdamW(parameters, new AdamWOptions(0.01));
    }

    private String trainTo(int ranks, Kind kind, long last) {
        List<String> bits = Hvd.spawn(ranks, hvd -> {
            try (Fit fit = new Fit(hvd, kind, builder -> builder)) {
                fit.trainTo(last);
                return fit.bits();
            }
        });
        assertThat(bits).containsOnly(bits.get(0));
        return bits.get(0);
    }

    private Path set(long step) {
        return new CheckpointFolder(folder).set(step);
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void fourRanksGoOnAsThreeAsOneAndAsFourToTheBit(Kind kind) throws IOException {
        trainTo(4, kind, 3);
        assertThat(names(set(3)))
                .containsExactly(
                        "model-00001-of-00004.safetensors",
                        "model-00002-of-00004.safetensors",
                        "model-00003-of-00004.safetensors",
                        "model-00004-of-00004.safetensors",
                        "model.safetensors.index.json");
        trainTo(3, kind, 6);
        assertThat(names(set(6))).hasSize(4);
        trainTo(1, kind, 9);
        String resumed = trainTo(4, kind, 12);
        assertThat(names(folder)).containsExactly("step-0000000009", "step-0000000012");
        Checkpoint last = Checkpoint.read(set(12));

        CheckpointFolder.delete(set(9));
        CheckpointFolder.delete(set(12));
        assertThat(trainTo(4, kind, 12)).as("without an interruption").isEqualTo(resumed);
        Checkpoint uninterrupted = Checkpoint.read(set(12));
        assertThat(uninterrupted.tensors().keySet()).isEqualTo(last.tensors().keySet());
        uninterrupted
                .tensors()
                .forEach((name, tensor) -> assertThat(tensor.toArray())
                        .as(name)
                        .isEqualTo(last.tensors().get(name).toArray()));
        assertThat(last.tensors().keySet())
                .anyMatch(name -> name.startsWith("optimizer.exp_avg."))
                .anyMatch(name -> name.startsWith("model."));
    }

    private static List<String> names(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void sharesAreBalancedByTheirBytesAndEachTensorIsInOneFile() throws IOException {
        trainTo(2, Kind.ARRAYS, 1);
        long all = Arrays.stream(LENGTHS).sum() * 3L * Float.BYTES;
        for (int file = 1; file <= 2; file++) {
            Checkpoint share = Checkpoint.read(set(1).resolve("model-0000" + file + "-of-00002.safetensors"));
            assertThat(share.tensors().values().stream()
                            .mapToLong(Tensor::bytes)
                            .sum())
                    .isBetween(all / 3, 2 * all / 3);
        }
        assertThat(Files.readString(set(1).resolve("model.safetensors.index.json")))
                .contains(
                        "\"total_size\": " + all, "\"weight_map\"", "\"optimizer.exp_avg_sq.layer5.w\": \"model-0000");
    }

    @Test
    void theFirstRankAloneAndEveryRankGoOnFromEachOthersCheckpoints() {
        Hvd.spawn(2, hvd -> {
            try (Fit fit = new Fit(hvd, Kind.SHARED_ARRAYS, builder -> builder)) {
                fit.trainTo(3);
            }
            return null;
        });
        List<String> alone = Hvd.spawn(3, hvd -> plainFit(hvd, 3, 6));
        String resumed = trainTo(2, Kind.SHARED_ARRAYS, 9);
        CheckpointFolder all = new CheckpointFolder(folder);
        assertThat(all.file(6)).exists();
        assertThat(all.set(9)).exists();
        assertThat(alone).containsOnly(alone.get(0));
        assertThat(resumed).isEqualTo(uninterrupted(9));
    }

    /** Goes on with {@code after(consolidate)} and one file. */
    private String plainFit(HvdContext hvd, long from, long to) throws IOException {
        Fit fit = new Fit(hvd, Kind.SHARED_ARRAYS, builder -> builder);
        try (Checkpoints one = Checkpoints.in(folder, hvd, fit.outermost)
                .model(() -> fit.values, saved -> ResumableParts.overwrite(fit.values, saved))
                .after(() -> fit.shared.consolidate(0))
                .keep(2)
                .build()) {
            assertThat(one.resumeLatest().orElseThrow().step()).isEqualTo(from);
            for (long step = from; step < to; ) {
                fit.step(++step);
            }
            one.saveAndWait(to, 0);
            return fit.bits();
        }
    }

    private String uninterrupted(long steps) {
        return Hvd.spawn(1, hvd -> {
                    Fit fit = new Fit(hvd, Kind.ARRAYS, builder -> builder);
                    for (long step = 0; step < steps; ) {
                        fit.step(++step);
                    }
                    return fit.bits();
                })
                .get(0);
    }

    @Test
    void trainingGoesOnWhileTheFilesAreWrittenAndTheyHaveTheStateOfTheirStep() throws IOException {
        CountDownLatch mayWrite = new CountDownLatch(1);
        SeriesFiles.Output slow = (checkpoint, file) -> {
            try {
                mayWrite.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
            checkpoint.write(file);
        };
        List<String> then = Hvd.spawn(3, hvd -> {
            try (Fit fit = new Fit(hvd, Kind.SHARED_ARRAYS, builder -> builder.output(slow))) {
                fit.checkpoints.resumeLatest();
                fit.step(1);
                String bits = fit.bits();
                fit.checkpoints.save(1, 0);
                fit.step(2);
                fit.checkpoints.save(2, 0); // is left out
                fit.step(3);
                assertThat(new CheckpointFolder(folder).steps()).isEmpty();
                hvd.barrier();
                mayWrite.countDown();
                fit.checkpoints.saveAndWait(3, 0);
                return bits;
            }
        });
        assertThat(new CheckpointFolder(folder).steps()).containsExactly(3L, 1L);
        CheckpointFolder.delete(set(3));
        assertThat(trainTo(2, Kind.SHARED_ARRAYS, 1)).isEqualTo(then.get(0));
    }

    @Test
    void aRankThatCannotWriteIsNamedOnAllRanksAndTheNextCheckpointIsWhole() throws IOException {
        Hvd.spawn(3, hvd -> {
            boolean[] full = {true};
            SeriesFiles.Output output = (checkpoint, file) -> {
                if (hvd.rank() == 2 && full[0]) {
                    throw new IOException("No space left on device");
                }
                checkpoint.write(file);
            };
            try (Fit fit = new Fit(hvd, Kind.ARRAYS, builder -> builder.output(output))) {
                fit.checkpoints.resumeLatest();
                fit.step(1);
                assertThatThrownBy(() -> fit.checkpoints.saveAndWait(1, 0))
                        .isInstanceOfSatisfying(
                                HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.CHECKPOINT_NOT_WRITTEN))
                        .hasMessageContainingAll("model-00003-of-00003.safetensors", "No space left on device");
                assertThat(new CheckpointFolder(folder).steps()).isEmpty();
                full[0] = false;
                fit.step(2);
                fit.checkpoints.saveAndWait(2, 0);
            }
            return null;
        });
        assertThat(new CheckpointFolder(folder).steps()).containsExactly(2L);
        assertThat(folder).as("what the failure has left is gone").isDirectoryNotContaining("glob:**/.step-*");
    }

    @Test
    void aSetThatIsDamagedInAnyOfItsFilesIsRefusedOnAllRanksAndTheOneBeforeIsTaken() throws Exception {
        trainTo(3, Kind.ARRAYS, 1);
        trainTo(3, Kind.ARRAYS, 2);
        Path file = set(2).resolve("model-00002-of-00003.safetensors");
        byte[] bytes = Files.readAllBytes(file);
        for (int at : new int[] {bytes.length - 1, 60}) {
            byte[] changed = bytes.clone();
            changed[at] ^= 1;
            Files.write(file, changed);
            assertThat(StandardError.during(() -> assertThat(resumedStep(2)).isEqualTo(1)))
                    .contains(set(2).toString(), "model-00002-of-00003.safetensors", "is no whole checkpoint");
        }
        Files.delete(file);
        assertThat(StandardError.during(() -> assertThat(resumedStep(4)).isEqualTo(1)))
                .contains("its file model-00002-of-00003.safetensors is missing");
        Files.write(file, bytes);
        assertThat(resumedStep(4)).isEqualTo(2);
    }

    /** The state of a shared optimizer is read by the rank that steps it alone. */
    @Test
    void behindStateThatIsDamagedForOneRankACheckpointOfBeforeTheFirstStepIsTaken() throws Exception {
        trainTo(3, Kind.SHARED_TORCH, 0);
        trainTo(3, Kind.SHARED_TORCH, 1);
        Path file = set(1).resolve("model-00002-of-00003.safetensors");
        byte[] bytes = Files.readAllBytes(file);
        bytes[bytes.length - 1] ^= 1;
        Files.write(file, bytes);
        assertThat(StandardError.during(() -> {
                    List<Long> from = Hvd.spawn(3, hvd -> {
                        try (Fit fit = new Fit(hvd, Kind.SHARED_TORCH, builder -> builder)) {
                            return fit.checkpoints.resumeLatest().orElseThrow().step();
                        }
                    });
                    assertThat(from).containsOnly(0L);
                }))
                .contains("rank 1: ", "model-00002-of-00003.safetensors");
    }

    private long resumedStep(int ranks) {
        return Hvd.spawn(ranks, hvd -> {
                    try (Fit fit = new Fit(hvd, Kind.ARRAYS, builder -> builder)) {
                        return fit.checkpoints.resumeLatest().orElseThrow().step();
                    }
                })
                .get(0);
    }
}
