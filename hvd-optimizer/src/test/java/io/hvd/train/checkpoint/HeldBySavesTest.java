package io.hvd.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.tensor.Tensor;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.SortedMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Prints for how long a save holds the training, beside the time of a step: LibTorch's AdamW over 17 million parameters. */
@Tag("long")
@Timeout(900)
class HeldBySavesTest {
    private static final int LAYERS = 4;
    private static final int WIDTH = 2048;
    private static final int SAVES = 7;
    /** Steps between two saves, in which the files are written. */
    private static final int STEPS = 3;

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"1, 512", "2, 512", "2, 2048"})
    void theTrainingIsHeldForTheCopyAlone(int ranks, int batch) throws Exception {
        Hvd.spawn(ranks, hvd -> {
            measure(hvd, batch);
            return null;
        });
        assertThat(new CheckpointFolder(folder).steps()).hasSize(1);
    }

    private void measure(HvdContext hvd, int batch) throws Exception {
        Module module = new Module();
        LinearImpl[] layers = new LinearImpl[LAYERS];
        for (int i = 0; i < LAYERS; i++) {
            layers[i] = new LinearImpl(WIDTH, WIDTH);
            module.register_module("layer" + i, layers[i]);
        }
        SortedMap<String, Tensor> values = TorchTensors.parameters(module);
        var optimizer = DistributedOptimizer.wrap(new TorchOptimizer(
                        new AdamW(module.parameters(), new AdamWOptions(1e-4)), module.named_parameters()))
                .context(hvd)
                .build();
        optimizer.broadcastParameters(0);
        double[] steps = new double[SAVES * STEPS];
        double[] saves = new double[SAVES];
        try (Checkpoints checkpoints = Checkpoints.in(folder, hvd, optimizer)
                .model(() -> values, saved -> ResumableParts.overwrite(values, saved))
                .everyRankWrites()
                .keep(1)
                .build()) {
            checkpoints.resumeLatest();
            step(layers, optimizer, batch);
            double first = save(hvd, checkpoints, 1);
            for (int i = 0; i < steps.length; i++) {
                hvd.barrier();
                long start = System.nanoTime();
                step(layers, optimizer, batch);
                hvd.barrier();
                steps[i] = (System.nanoTime() - start) / 1e9;
                if (i % STEPS == STEPS - 1) {
                    saves[i / STEPS] = save(hvd, checkpoints, 2 + i);
                }
            }
            say(hvd, batch, median(steps), first, saves);
        }
    }

    private static void say(HvdContext hvd, int batch, double step, double first, double[] saves) {
        if (hvd.rank() == 0) {
            System.out.printf(
                    Locale.ROOT,
                    "%d rank(s), batch %d: a step takes %.3f s, the first save held it %.3f s, the others %.4f s (median of"
                            + " %d), which is %.1f %% of a step%n",
                    hvd.size(),
                    batch,
                    step,
                    first,
                    median(saves),
                    saves.length,
                    100 * median(saves) / step);
        }
    }

    private static void step(LinearImpl[] layers, DistributedOptimizer optimizer, int batch) {
        try (PointerScope scope = new PointerScope()) {
            optimizer.zeroGradients();
            var x = torch.randn(batch, WIDTH);
            for (LinearImpl layer : layers) {
                x = layer.forward(x).tanh();
            }
            TorchOptimizer.backward(x.square().mean());
            optimizer.step();
        }
    }

    /** Until all ranks may go on; saves that would be left out come behind the one before. */
    private static double save(HvdContext hvd, Checkpoints checkpoints, long number) throws Exception {
        checkpoints.close(); // waits for the one before
        hvd.barrier();
        long start = System.nanoTime();
        checkpoints.save(number, 0);
        hvd.barrier();
        return (System.nanoTime() - start) / 1e9;
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
