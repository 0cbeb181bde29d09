package io.hvd.optimizer.torch;

import static io.hvd.optimizer.Closeness.assertClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Lamb;
import io.hvd.optimizer.Lars;
import io.hvd.optimizer.Optimizer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.EmbeddingOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** LARS and LAMB on LibTorch's tensors, beside those on arrays. */
@Timeout(120)
class TorchLayerwiseTest {
    private static final int STEPS = 20;

    /** The layer "c" begins with zeros, so that one of the two norms is 0; "bias" has one element. */
    private static final List<String> NAMES = List.of("a", "bias", "c", "d");

    private static final int[] LENGTHS = {9, 1, 4, 300};

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    static List<Arguments> pairs() {
        return List.of(
                pair("LARS", p -> new Lars(p, 0.5), t -> new TorchLars(t, 0.5)),
                pair(
                        "LARS with other settings, not for biases",
                        p -> new Lars(p, 0.3, 0.75, 0.1, 0.02, name -> !name.equals("bias")),
                        t -> new TorchLars(t, 0.3, 0.75, 0.1, 0.02, parameter -> parameter.numel() > 1)),
                pair("LAMB", p -> new Lamb(p, 0.05), t -> new TorchLamb(t, 0.05)),
                pair(
                        "LAMB with other settings, not for biases",
                        p -> new Lamb(p, 0.05, 0.75, 0.875, 1e-3, 0.2, name -> !name.equals("bias")),
                        t -> new TorchLamb(t, 0.05, 0.75, 0.875, 1e-3, 0.2, parameter -> parameter.numel() > 1)));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("pairs")
    void twentyStepsEndAtTheWeightsOfTheOneOnArrays(
            Function<ArrayParameters, Optimizer> ours, Function<TensorVector, org.bytedeco.pytorch.Optimizer> theirs) {
        float[][] values = start();
        float[][] gradients = new float[LENGTHS.length][];
        ArrayParameters arrays = new ArrayParameters();
        for (int layer = 0; layer < LENGTHS.length; layer++) {
            gradients[layer] = new float[LENGTHS[layer]];
            arrays.add(NAMES.get(layer), values[layer], gradients[layer]);
        }
        Optimizer onArrays = ours.apply(arrays);
        Layers net = new Layers();
        org.bytedeco.pytorch.Optimizer onTensors = theirs.apply(net.module.parameters());
        for (int step = 0; step < STEPS; step++) {
            for (int layer = 0; layer < LENGTHS.length; layer++) {
                System.arraycopy(gradient(layer, step, 0), 0, gradients[layer], 0, LENGTHS[layer]);
            }
            onArrays.step();
            net.backward(step, 0, onTensors);
            onTensors.step().close();
        }
        for (int layer = 0; layer < LENGTHS.length; layer++) {
            assertClose(Models.floats(net.parameters.get(layer)), values[layer], 2e-6);
            assertThat(values[layer]).isNotEqualTo(start()[layer]);
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("pairs")
    void aStepLeavesGradientsAndRatesAsTheyWere(
            Function<ArrayParameters, Optimizer> ours, Function<TensorVector, org.bytedeco.pytorch.Optimizer> theirs) {
        Layers net = new Layers();
        org.bytedeco.pytorch.Optimizer optimizer = theirs.apply(net.module.parameters());
        double rate = optimizer.param_groups().get(0).options().get_lr();
        net.backward(3, 0, optimizer);
        optimizer.step().close();
        assertThat(optimizer.param_groups().get(0).options().get_lr()).isEqualTo(rate);
        for (int layer = 0; layer < LENGTHS.length; layer++) {
            assertThat(Models.floats(net.parameters.get(layer).grad())).isEqualTo(gradient(layer, 3, 0));
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("pairs")
    void anOptimizerThatHasLoadedTheStateOfAnotherGoesOnAsThatOneWould(
            Function<ArrayParameters, Optimizer> ours, Function<TensorVector, org.bytedeco.pytorch.Optimizer> theirs) {
        Layers whole = new Layers();
        var optimizer = new TorchOptimizer(theirs.apply(whole.module.parameters()), whole.module.named_parameters());
        train(whole, optimizer, 0, 5);
        Layers resumed = new Layers();
        whole.copyTo(resumed);
        var other = new TorchOptimizer(theirs.apply(resumed.module.parameters()), resumed.module.named_parameters());
        other.loadState(optimizer.saveState());
        train(whole, optimizer, 5, 9);
        train(resumed, other, 5, 9);
        assertThat(Models.weights(resumed.module)).isEqualTo(Models.weights(whole.module));
        assertThat(other.saveState()).isEqualTo(optimizer.saveState());
    }

    private static void train(Layers net, TorchOptimizer optimizer, int from, int to) {
        for (int step = from; step < to; step++) {
            optimizer.zeroGradients();
            net.backward(step, 0, null);
            optimizer.step();
        }
    }

    /** Each rank has gradients of its own; a single process has their mean. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("pairs")
    void twoRanksStepAsOneProcessWithTheMeanOfTheirGradients(
            Function<ArrayParameters, Optimizer> ours, Function<TensorVector, org.bytedeco.pytorch.Optimizer> theirs) {
        List<float[]> ranks = Hvd.spawn(2, hvd -> {
            Layers net = new Layers();
            var inner = theirs.apply(net.module.parameters());
            var optimizer = DistributedOptimizer.wrap(new TorchOptimizer(inner, net.module.named_parameters()))
                    .context(hvd)
                    .compareParametersEvery(1)
                    .build();
            optimizer.broadcastParameters(0);
            optimizer.broadcastOptimizerState(0);
            for (int step = 0; step < 4; step++) {
                optimizer.zeroGradients();
                net.backward(step, hvd.rank(), null);
                optimizer.step();
            }
            return Models.weights(net.module);
        });
        Layers alone = new Layers();
        var inner = theirs.apply(alone.module.parameters());
        for (int step = 0; step < 4; step++) {
            alone.backwardOfMean(step, inner);
            inner.step().close();
        }
        assertThat(ranks.get(1)).isEqualTo(ranks.get(0));
        assertClose(ranks.get(0), Models.weights(alone.module), 1e-6);
    }

    @Test
    void theRanksCompareTheConstants() {
        Layers net = new Layers();
        var lars = new TorchOptimizer(
                new TorchLars(net.module.parameters(), 0.5, 0.75, 0.25, 0.125, parameter -> true),
                net.module.named_parameters());
        assertThat(lars.settings())
                .containsEntry("optimizer", "TorchLars")
                .containsEntry("momentum", "0.75")
                .containsEntry("weight decay", "0.25")
                .containsEntry("trust", "0.125");
        var lamb = new TorchOptimizer(
                new TorchLamb(net.module.parameters(), 0.5, 0.75, 0.875, 1e-3, 0.25, parameter -> true),
                net.module.named_parameters());
        assertThat(lamb.settings())
                .containsEntry("optimizer", "TorchLamb")
                .containsEntry("beta1", "0.75")
                .containsEntry("beta2", "0.875")
                .containsEntry("weight decay", "0.25");
    }

    @Test
    void whatCannotBeMeantIsRefused() {
        TensorVector all = new Layers().module.parameters();
        assertThatThrownBy(() -> new TorchLars(all, 0.1, 1, 0, 0.1, parameter -> true))
                .hasMessageContainingAll(ErrorId.BAD_ARGUMENT.code(), "TorchLars", "momentum", "1.0");
        assertThatThrownBy(() -> new TorchLars(all, 0.1, 0, 0, 0, parameter -> true))
                .hasMessageContainingAll("trust", "0.0");
        assertThatThrownBy(() -> new TorchLars(all, 0.1, 0, -1, 1, parameter -> true))
                .hasMessageContainingAll("weight decay", "-1.0");
        assertThatThrownBy(() -> new TorchLamb(all, 0.1, 0.5, 1.5, 1e-6, 0, parameter -> true))
                .hasMessageContainingAll("beta2", "1.5");
    }

    @Test
    void aSparseGradientIsRefusedAndNothingHasMoved() {
        EmbeddingOptions options = new EmbeddingOptions(6, 2);
        options.sparse().put(true);
        EmbeddingImpl embedding = new EmbeddingImpl(options);
        float[] before = Models.weights(embedding);
        embedding
                .forward(Models.tensor(1).to(org.bytedeco.pytorch.global.torch.ScalarType.Long))
                .sum()
                .backward();
        for (org.bytedeco.pytorch.Optimizer optimizer :
                List.of(new TorchLars(embedding.parameters(), 0.1), new TorchLamb(embedding.parameters(), 0.1))) {
            assertThatThrownBy(optimizer::step)
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll(ErrorId.UNSUPPORTED.code(), "sparse");
            assertThat(Models.weights(embedding)).isEqualTo(before);
        }
    }

    private static Arguments pair(
            String name,
            Function<ArrayParameters, Optimizer> ours,
            Function<TensorVector, org.bytedeco.pytorch.Optimizer> theirs) {
        return Arguments.of(Named.of(name, ours), theirs);
    }

    private static float[][] start() {
        float[][] values = new float[LENGTHS.length][];
        for (int layer = 0; layer < LENGTHS.length; layer++) {
            values[layer] = layer == 2 ? new float[LENGTHS[layer]] : random(layer, LENGTHS[layer], 1 + layer);
        }
        return values;
    }

    private static float[] gradient(int layer, int step, int rank) {
        return random(1000L * step + 100L * rank + layer, LENGTHS[layer], Math.pow(10, layer - 2));
    }

    private static float[] random(long seed, int length, double scale) {
        Random random = new Random(seed);
        float[] values = new float[length];
        for (int i = 0; i < length; i++) {
            values[i] = (float) (scale * random.nextGaussian());
        }
        return values;
    }

    /** A module whose gradients the test chooses. */
    private static final class Layers {
        final Module module = new Module();
        final List<Tensor> parameters = new ArrayList<>();

        Layers() {
            float[][] values = start();
            for (int layer = 0; layer < LENGTHS.length; layer++) {
                parameters.add(Models.parameter(module, NAMES.get(layer), values[layer]));
            }
        }

        /** @param zeroed null if somebody else has done that */
        void backward(int step, int rank, org.bytedeco.pytorch.Optimizer zeroed) {
            if (zeroed != null) {
                zeroed.zero_grad();
            }
            try (PointerScope scope = new PointerScope()) {
                for (int layer = 0; layer < LENGTHS.length; layer++) {
                    parameters
                            .get(layer)
                            .mul(Models.tensor(gradient(layer, step, rank)))
                            .sum()
                            .backward();
                }
            }
        }

        void backwardOfMean(int step, org.bytedeco.pytorch.Optimizer zeroed) {
            zeroed.zero_grad();
            try (PointerScope scope = new PointerScope()) {
                for (int layer = 0; layer < LENGTHS.length; layer++) {
                    float[] mean = gradient(layer, step, 0);
                    float[] other = gradient(layer, step, 1);
                    for (int i = 0; i < mean.length; i++) {
                        mean[i] = (mean[i] + other[i]) / 2;
                    }
                    parameters.get(layer).mul(Models.tensor(mean)).sum().backward();
                }
            }
        }

        void copyTo(Layers other) {
            var from = TorchTensors.parameters(module);
            TorchTensors.parameters(other.module).forEach((name, tensor) -> tensor.copyFrom(from.get(name)));
        }
    }
}
