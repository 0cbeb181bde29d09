package io.hvd.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A checkpoint of 3 GiB, beside which two ranks go on with steps of 4 MiB; it prints how long the training has waited. */
@Tag("long")
@Timeout(600)
class LargeCheckpointsTest {
    private static final int PARTS = 3;
    private static final int PART = 1 << 28;

    @TempDir
    Path folder;

    @Test
    void theTrainingGoesOnWhileThreeGibibytesAreWritten() {
        Hvd.spawn(2, hvd -> {
            float[] weights = new float[1 << 20];
            float[] gradients = new float[1 << 20];
            var optimizer = DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("w", weights, gradients), 0.1))
                    .build();
            optimizer.broadcastParameters(0);
            TreeMap<String, Tensor> large = new TreeMap<>();
            for (int part = 0; part < PARTS && hvd.rank() == 0; part++) {
                large.put("part" + part, Tensor.zeros(DType.FLOAT32, Shape.of(PART)));
            }
            try (Checkpoints checkpoints = Checkpoints.in(folder, hvd, optimizer)
                    .model(() -> large, saved -> {})
                    .keep(1)
                    .build()) {
                checkpoints.resumeLatest();
                for (int step = 1; step <= 2; step++) {
                    saveAndGoOn(hvd, optimizer, checkpoints, step);
                }
            }
            return null;
        });
        assertThat(new CheckpointFolder(folder).file(2)).exists();
    }

    private void saveAndGoOn(HvdContext hvd, DistributedOptimizer optimizer, Checkpoints checkpoints, int number)
            throws Exception {
        long start = System.nanoTime();
        checkpoints.save(number, 0);
        hvd.barrier();
        double pause = (System.nanoTime() - start) / 1e9;
        int steps = 0;
        while (!isWritten(hvd, number)) {
            optimizer.step();
            steps++;
        }
        double writing = (System.nanoTime() - start) / 1e9 - pause;
        if (hvd.rank() == 0) {
            System.out.printf(
                    Locale.ROOT,
                    "checkpoint %d of 3 GiB: training waited %.2f s, then made %d steps in the %.1f s until the file was"
                            + " there%n",
                    number,
                    pause,
                    steps,
                    writing);
        }
        assertThat(steps).isPositive();
        assertThat(Files.size(new CheckpointFolder(folder).file(number))).isGreaterThan(3L << 30);
    }

    /** All ranks look alike. */
    private boolean isWritten(HvdContext hvd, int number) {
        int there = hvd.rank() == 0 && Files.exists(new CheckpointFolder(folder).file(number)) ? 1 : 0;
        return ((int[]) hvd.broadcast("written", Tensor.of(there), 0).toArray())[0] > 0;
    }
}
