package io.hvd.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.Adam;
import io.hvd.optimizer.AdamW;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.RecordingOptimizer;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Checkpoints of older versions, of other names, and with fields that are missing or too many. */
@Timeout(60)
class NamedFieldsTest {
    @TempDir
    Path folder;

    /** A model with two parameters of the same shape and one optimizer around it. */
    private static final class Model {
        final SortedMap<String, Tensor> values = new TreeMap<>();
        final Optimizer optimizer;
        private final Consumer<Long> fill;

        Model(boolean onTorch, String first) {
            if (onTorch) {
                Module module = new Module();
                LinearImpl one = new LinearImpl(3, 3);
                LinearImpl two = new LinearImpl(3, 3);
                module.register_module(first, one);
                module.register_module("two", two);
                values.putAll(TorchTensors.parameters(module));
                values.values().forEach(value -> value.copyFrom(Tensor.zeros(value.dtype(), value.shape())));
                optimizer = new TorchOptimizer(
                        new org.bytedeco.pytorch.AdamW(module.parameters(), new AdamWOptions(0.1)),
                        module.named_parameters());
                fill = step -> TorchOptimizer.backward(two.forward(
                                one.forward(torch.full(new long[] {2, 3}, new Scalar(0.5 * step))))
                        .sin()
                        .sum());
            } else {
                float[] a = new float[9];
                float[] b = new float[9];
                float[] ga = new float[9];
                float[] gb = new float[9];
                values.put(first + ".weight", Tensor.of(a));
                values.put("two.weight", Tensor.of(b));
                optimizer = new AdamW(
                        new ArrayParameters().add(first + ".weight", a, ga).add("two.weight", b, gb), 0.1);
                fill = step -> {
                    Arrays.fill(ga, step);
                    Arrays.fill(gb, -2f * step);
                };
            }
        }

        void step(long step) {
            optimizer.zeroGradients();
            fill.accept(step);
            optimizer.step();
        }

        Checkpoints checkpoints(Path folder, HvdContext hvd, UnaryOperator<CheckpointsBuilder> more) {
            return more.apply(Checkpoints.in(folder, hvd, optimizer)
                            .model(() -> values, saved -> ResumableParts.overwrite(values, saved)))
                    .build();
        }
    }

    private static void sameState(Model one, Model other) {
        assertThat(one.optimizer.saveState()).isEqualTo(other.optimizer.saveState());
        one.values.forEach((name, value) -> assertThat(value.toFloatArray())
                .as(name)
                .isEqualTo(other.values.get(name).toFloatArray()));
    }

    /** As hvd 0.1.0 has written it before optimizers had names. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aFileWhoseOptimizersStateIsBytesIsTakenOver(boolean onTorch) throws IOException {
        Model before = new Model(onTorch, "one");
        before.step(1);
        before.step(2);
        SortedMap<String, Tensor> tensors = new TreeMap<>();
        before.values.forEach((name, value) -> tensors.put("model." + name, value));
        tensors.put("optimizer.state", Tensor.ofBytes(before.optimizer.saveState()));
        new Checkpoint(tensors, Map.of("manifest", "1", "step", "2", "epoch", "0", "world_size", "1"))
                .withTensorSums()
                .write(new CheckpointFolder(folder).file(2));
        for (boolean everyRank : new boolean[] {false, true}) {
            Hvd.spawn(2, hvd -> {
                Model model = new Model(onTorch, "one");
                try (Checkpoints checkpoints =
                        model.checkpoints(folder, hvd, builder -> everyRank ? builder.everyRankWrites() : builder)) {
                    assertThat(checkpoints.resumeLatest().orElseThrow().step()).isEqualTo(2);
                    sameState(model, before);
                }
                return null;
            });
        }
    }

    private Model saved(boolean onTorch) {
        return Hvd.spawn(1, hvd -> {
                    Model model = new Model(onTorch, "one");
                    model.step(1);
                    model.step(2);
                    try (Checkpoints checkpoints = model.checkpoints(folder, hvd, builder -> builder)) {
                        checkpoints.saveAndWait(2, 0);
                    }
                    return model;
                })
                .get(0);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aParameterThatWasRenamedIsNamedByASentenceAndTakenUnderItsNewName(boolean onTorch) {
        Model before = saved(onTorch);
        Hvd.spawn(1, hvd -> {
            Model model = new Model(onTorch, "first");
            model.optimizer.namedState();
            assertThatThrownBy(() -> model.optimizer.loadNamedState(before.optimizer.namedState()))
                    .hasMessageContainingAll("HVD-402", "exp_avg.one.", "renamed(\"one.", "\", \"first.");
            try (Checkpoints checkpoints = model.checkpoints(
                    folder,
                    hvd,
                    builder -> builder.renamed("one.weight", "first.weight").renamed("one.bias", "first.bias"))) {
                assertThat(checkpoints.resumeLatest().orElseThrow().step()).isEqualTo(2);
            }
            model.step(3);
            before.step(3);
            assertThat(model.values.get("first.weight").toFloatArray())
                    .isEqualTo(before.values.get("one.weight").toFloatArray());
            return null;
        });
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void fieldsThatAreMissingOrTooManyAreNamedAndNothingIsChanged(boolean onTorch) {
        Model before = saved(onTorch);
        before.step(3);
        byte[] state = before.optimizer.saveState();
        refused(before, (tensors, words) -> tensors.remove("exp_avg_sq.two.weight"), "exp_avg_sq", "two.weight");
        refused(before, (tensors, words) -> tensors.put("exp_avg.three", Tensor.of(1f)), "\"exp_avg.three\"");
        refused(
                before,
                (tensors, words) -> tensors.put("exp_avg.two.weight", Tensor.of(1f)),
                "exp_avg",
                "two.weight",
                "is float32[1], expected float32");
        refused(before, (tensors, words) -> words.put("kind", "Adam"), "it is of \"Adam\" where this optimizer");
        refused(before, (tensors, words) -> words.remove("kind"), "its word \"kind\" is missing");
        String rate = onTorch ? "group.0.lr" : "learning_rate";
        refused(before, (tensors, words) -> words.remove(rate), "\"" + rate + "\" is missing");
        refused(before, (tensors, words) -> words.put(rate, "fast"), "fast");
        assertThat(before.optimizer.saveState()).isEqualTo(state);
    }

    /** Changes a state. */
    private interface Change {
        void of(SortedMap<String, Tensor> tensors, SortedMap<String, String> words);
    }

    private static void refused(Model model, Change change, String... words) {
        var state = model.optimizer.namedState();
        SortedMap<String, Tensor> tensors = new TreeMap<>(state.tensors());
        SortedMap<String, String> others = new TreeMap<>(state.words());
        change.of(tensors, others);
        assertThatThrownBy(() -> model.optimizer.loadNamedState(new NamedState(tensors, others)))
                .hasMessageContaining("HVD-402")
                .hasMessageContainingAll(words);
    }

    @Test
    void anOptimizerOfAProgramsOwnThatKnowsNoNamesSaysSo() {
        Optimizer own = new RecordingOptimizer(List.of());
        var named = new Adam(new ArrayParameters().add("w", new float[1], new float[1]), 1).namedState();
        assertThatThrownBy(() -> own.loadNamedState(named))
                .hasMessageContainingAll("HVD-402", "exp_avg.w", "RecordingOptimizer", "knows none");
    }
}
