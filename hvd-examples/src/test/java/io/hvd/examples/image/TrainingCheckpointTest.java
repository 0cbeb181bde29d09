package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.error.HvdException;
import io.hvd.examples.training.SeededModule;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TrainingCheckpointTest {
    @TempDir
    Path folder;

    @Test
    void whatWasSavedIsRestoredWithItsWordsOfOneLine() throws IOException {
        Path file = saved();
        changed(file, (tensors, words) -> words.put("note", "two\nepochs=9"));

        assertThat(restore(file)).containsExactly(Map.entry("epochs", "3"));
    }

    @Test
    void aFileOfAnotherProgramIsNamedWithWhatItLacks() throws IOException {
        Path file = saved();
        changed(file, (tensors, words) -> words.keySet().removeIf(key -> key.startsWith("optimizer.")));
        assertThatThrownBy(() -> restore(file))
                .hasStackTraceContaining("HVD-501")
                .hasStackTraceContaining(file + " is of no training")
                .hasStackTraceContaining("names begin with \"optimizer.\"");

        changed(saved(), (tensors, words) -> tensors.put("optimizer.exp_avg.x", Tensor.of(1f)));
        assertThatThrownBy(() -> restore(file)).hasStackTraceContaining("optimizer.exp_avg.x".substring(10));

        changed(saved(), (tensors, words) -> words.put("epochs", "three"));
        assertThatThrownBy(() -> restore(file)).rootCause().hasMessageContaining("\"epochs\" is \"three\"");
    }

    @Test
    void aCheckpointWithoutALossScaleIsNamedTogetherWithTheFlag() {
        Path file = folder.resolve("net.ckpt");
        save(file, Precision.BF16);

        assertThatThrownBy(() -> onOneRank(file, Precision.FP16, checkpoint -> checkpoint.restore(true)))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("HVD-501")
                .hasMessageContaining(
                        file + " is of no training, or of one with another optimizer or another precision")
                .hasMessageContainingAll("--amp", "disabled GradScaler");
    }

    private Path saved() {
        Path file = folder.resolve("net.ckpt");
        save(file, Precision.FP32);
        return file;
    }

    private static void save(Path file, Precision precision) {
        onOneRank(file, precision, checkpoint -> {
            checkpoint.save(Map.of("epochs", "3"), false);
            return Map.of();
        });
    }

    private static Map<String, String> restore(Path file) {
        return onOneRank(file, Precision.FP32, checkpoint -> checkpoint.restore(true));
    }

    private static void changed(Path file, BiConsumer<Map<String, Tensor>, Map<String, String>> change)
            throws IOException {
        Checkpoint read = Checkpoint.read(file);
        TreeMap<String, Tensor> tensors = new TreeMap<>(read.tensors());
        Map<String, String> words = new HashMap<>(read.metadata());
        change.accept(tensors, words);
        new Checkpoint(tensors, words).write(file);
    }

    private interface Use {
        Map<String, String> of(TrainingCheckpoint checkpoint) throws IOException;
    }

    private static Map<String, String> onOneRank(Path file, Precision precision, Use use) {
        return Hvd.spawn(1, hvd -> {
                    ImageClassifier model = SeededModule.seeded(1, DigitsNet::new);
                    DistributedOptimizer optimizer = DistributedOptimizer.wrap(new TorchOptimizer(
                                    new SGD(model.parameters(), new SGDOptions(0.1)), model.named_parameters()))
                            .build();
                    AmpOptimizer amp = AmpOptimizer.wrap(optimizer)
                            .scaler(precision.scaler())
                            .build();
                    return use.of(new TrainingCheckpoint(hvd, model, amp, Optional.of(file)));
                })
                .get(0);
    }
}
