package io.hvd.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.optimizer.AdamW;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.NamedState;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import io.hvd.train.SaveCheckpoint;
import io.hvd.train.TrainingLoop;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An optimizer's state beyond 2^31 bytes: AdamW on arrays of 280 million parameters, in a checkpoint of 3.4 GB. */
@Tag("long")
@Timeout(900)
class LargeStateTest {
    private static final int PARAMETERS = 2;
    private static final int LENGTH = 140_000_000;

    @TempDir
    Path folder;

    private final float[][] values = new float[PARAMETERS][LENGTH];
    private final float[][] gradients = new float[PARAMETERS][LENGTH];
    private final AdamW optimizer = adamW();

    private AdamW adamW() {
        ArrayParameters parameters = new ArrayParameters();
        for (int i = 0; i < PARAMETERS; i++) {
            parameters.add("layer" + i, values[i], gradients[i]);
        }
        return new AdamW(parameters, 0.1);
    }

    @Test
    void aStateBeyondTwoGibibytesIsSavedAndResumedToTheBit() {
        for (int i = 0; i < PARAMETERS; i++) {
            for (int j = 0; j < LENGTH; j++) {
                gradients[i][j] = Math.floorMod(31 * j + i, 17) - 8;
            }
        }
        optimizer.step();
        assertThat(optimizer.fullStateBytes()).isGreaterThan(1L << 31);
        Hvd.spawn(1, hvd -> {
            try (Checkpoints checkpoints = Checkpoints.in(folder, hvd, optimizer)
                    .everyRankWrites()
                    .keep(1)
                    .build()) {
                checkpoints.saveAndWait(1, 0);
            }
            return null;
        });
        int saved = sums();
        optimizer.step();
        assertThat(sums()).isNotEqualTo(saved);
        Hvd.spawn(1, hvd -> {
            try (Checkpoints checkpoints =
                    Checkpoints.in(folder, hvd, optimizer).everyRankWrites().build()) {
                assertThat(checkpoints.resumeLatest().orElseThrow().step()).isEqualTo(1);
            }
            return null;
        });
        assertThat(sums()).isEqualTo(saved);
    }

    @Test
    void aCallbacksFileHasItAndGivesItBackToTheBit() throws IOException {
        Arrays.fill(gradients[0], 3);
        optimizer.step();
        int saved = momentSums();
        Path file = folder.resolve("last.safetensors");
        SaveCheckpoint.Content content = training -> new Checkpoint(new TreeMap<>(), Map.of())
                .withState("optimizer", training.optimizer().wholeState());
        long begun = System.nanoTime();
        Hvd.spawn(
                1,
                hvd -> TrainingLoop.of(hvd, DistributedOptimizer.wrap(optimizer).build())
                        .with(SaveCheckpoint.everyEpochs(1, file, content))
                        .run(1, List.of(1), 1, (batch, training) -> {}));
        double seconds = (System.nanoTime() - begun) / 1e9;
        System.out.printf(Locale.ROOT, "SaveCheckpoint wrote %d bytes in %.1f s%n", Files.size(file), seconds);
        assertThat(Files.size(file)).isGreaterThan(1L << 31);
        optimizer.step();
        assertThat(momentSums()).isNotEqualTo(saved);
        optimizer.loadNamedState(Checkpoint.read(file).state("optimizer"));
        assertThat(momentSums()).isEqualTo(saved);
    }

    /** Of weights and moments. */
    private int sums() {
        int sum = momentSums();
        for (float[] value : values) {
            sum = 31 * sum + Arrays.hashCode(value);
        }
        return sum;
    }

    private int momentSums() {
        NamedState state = optimizer.namedState();
        int sum = state.words().hashCode();
        for (Tensor tensor : state.tensors().values()) {
            sum = 31 * sum + hash(tensor);
        }
        return sum;
    }

    static int hash(Tensor tensor) {
        float[] piece = new float[1 << 20];
        int sum = 0;
        for (long at = 0; at < tensor.elements(); at += piece.length) {
            int count = (int) Math.min(piece.length, tensor.elements() - at);
            tensor.hostMemory().read(tensor.dtype(), at, piece, count);
            sum = 31 * sum + Arrays.hashCode(Arrays.copyOf(piece, count));
        }
        return sum;
    }
}
