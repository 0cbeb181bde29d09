package io.hvd.optimizer.torch;

import static io.hvd.optimizer.Closeness.assertClose;
import static io.hvd.optimizer.torch.Models.weights;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.bytedeco.pytorch.global.torch.mse_loss;

import io.hvd.Hvd;
import io.hvd.error.HvdException;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.DistributedOptimizerBuilder;
import io.hvd.optimizer.GradScaler;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.tensor.DType;
import io.hvd.tensor.HalfFloat;
import io.hvd.tensor.ReduceOp;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Models in 16 bits whose optimizer steps float32 copies, with real LibTorch gradients. */
@Timeout(120)
class MasterWeightsTest {
    private static final int STEPS = 20;

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    /** One weight that starts at 1, of which the loss is the weight itself, so that its gradient is 1. */
    private static final class Weight extends Module {
        final Tensor weight = Models.parameter(this, "weight", 1);
    }

    private static TorchOptimizer withMasters(Module model, ScalarType type, double rate) {
        MasterWeights masters = MasterWeights.of(model, type);
        return new TorchOptimizer(new SGD(masters.parameters(), new SGDOptions(rate)), masters);
    }

    private static TorchOptimizer withoutMasters(Module model, double rate) {
        TensorViews.references(model.named_parameters())
                .values()
                .forEach(parameter -> parameter.set_data(parameter.detach().to(ScalarType.Half)));
        return new TorchOptimizer(new SGD(model.parameters(), new SGDOptions(rate)), model.named_parameters());
    }

    private static float afterSmallSteps(int ranks, Function<Module, TorchOptimizer> make) {
        return Hvd.spawn(ranks, hvd -> {
                    Weight model = new Weight();
                    DistributedOptimizer optimizer =
                            DistributedOptimizer.wrap(make.apply(model)).build();
                    for (int step = 0; step < 100; step++) {
                        optimizer.zeroGradients();
                        model.weight.sum().backward();
                        optimizer.step();
                    }
                    return weights(model)[0];
                })
                .get(ranks - 1);
    }

    /** A step of 0.0001 is less than half of the distance between 1 and its neighbour in float16, which is 0.0005 below. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void stepsThatFloat16DoesNotShowAddUp(int ranks) {
        float alone = afterSmallSteps(ranks, model -> withoutMasters(model, 0.0001));
        float withMasters = afterSmallSteps(ranks, model -> withMasters(model, ScalarType.Half, 0.0001));

        assertThat(alone).isEqualTo(1);
        assertThat(withMasters).isEqualTo(HalfFloat.fromFloat16(HalfFloat.toFloat16(0.99f)));
    }

    private static void train(AmpOptimizer amp, Models.Net net, ScalarType type, int from, int to) {
        for (int step = from; step < to; step++) {
            try (PointerScope scope = new PointerScope()) {
                amp.zeroGradients();
                int first = (step * 2 + Hvd.rank()) * 4;
                Tensor output = net.forward(Models.inputs(first, first + 4).to(type));
                Tensor loss = mse_loss(output.to(ScalarType.Float), Models.targets(first, first + 4));
                amp.backward(scale -> TorchOptimizer.backward(loss, scale));
                amp.step();
            }
        }
    }

    private static AmpOptimizer amp(TorchOptimizer optimizer) {
        DistributedOptimizerBuilder builder =
                DistributedOptimizer.wrap(optimizer).bucketBytes(64);
        return AmpOptimizer.wrap(builder.build())
                .scaler(GradScaler.builder().initScale(1024).build())
                .clipGradientNorm(1e6)
                .build();
    }

    @ParameterizedTest
    @CsvSource({"Half, 2e-3", "BFloat16, 2e-2"})
    void aTrainingOf16BitsEndsNearTheOneInFloat32(ScalarType type, double tolerance) {
        Models.Net plain = new Models.Net(7);
        SGD sgd = new SGD(plain.parameters(), new SGDOptions(0.05));
        for (int step = 0; step < STEPS; step++) {
            sgd.zero_grad();
            plain.loss(step * 8, step * 8 + 8).backward();
            sgd.step();
        }

        List<float[]> trained = Hvd.spawn(2, hvd -> {
            Models.Net net = new Models.Net(7);
            AmpOptimizer amp = amp(withMasters(net, type, 0.05));
            train(amp, net, type, 0, STEPS);
            assertThat(amp.skippedSteps()).isZero();
            assertThat(amp.lastGradientNorm()).isPositive();
            return weights(net);
        });

        assertThat(trained.get(1)).isEqualTo(trained.get(0));
        assertClose(trained.get(0), weights(plain), tolerance);
        assertThat(trained.get(0)).isNotEqualTo(weights(plain));
    }

    /** The copies travel with the state: from the rounded model alone, the training would take another way. */
    @Test
    void aResumedTrainingEndsWhereAnUninterruptedOneDoes() {
        Hvd.spawn(2, hvd -> {
            Models.Net whole = new Models.Net(7);
            AmpOptimizer first = amp(withMasters(whole, ScalarType.Half, 0.05));
            train(first, whole, ScalarType.Half, 0, 7);
            byte[] state = first.saveState();
            train(first, whole, ScalarType.Half, 7, STEPS);

            Models.Net resumed = new Models.Net(8);
            AmpOptimizer second = amp(withMasters(resumed, ScalarType.Half, 0.05));
            second.loadState(state);
            train(second, resumed, ScalarType.Half, 7, STEPS);

            assertThat(weights(resumed)).isEqualTo(weights(whole));
            assertThat(copies(second)).isEqualTo(copies(first));
            return null;
        });
    }

    private static float[] copies(Optimizer optimizer) {
        float[] all = new float[0];
        for (Parameter parameter : optimizer.parameters()) {
            assertThat(parameter.value().dtype()).isEqualTo(DType.FLOAT32);
            all = concatenated(all, parameter.value().toFloatArray());
        }
        return all;
    }

    private static float[] concatenated(float[] first, float[] second) {
        float[] both = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }

    @Test
    void aStateWithoutCopiesIsRefusedAndChangesNothing() {
        Models.Net other = new Models.Net(8);
        byte[] plain = new TorchOptimizer(new SGD(other.parameters(), new SGDOptions(0.05)), other.named_parameters())
                .saveState();
        Models.Net net = new Models.Net(7);
        TorchOptimizer optimizer = withMasters(net, ScalarType.Half, 0.05);
        float[] before = weights(net);

        assertThatThrownBy(() -> optimizer.loadState(plain))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("has 0 master weights, expected 75", "without MasterWeights");
        byte[] cutOff = Arrays.copyOf(optimizer.saveState(), 40);
        assertThatThrownBy(() -> optimizer.loadState(cutOff)).hasMessageContaining("master weights");
        assertThat(weights(net)).isEqualTo(before);
    }

    /** Rank 1 has begun with other weights, which its model must lose at once, and its copies as well. */
    @Test
    void theRootsCopiesReachTheModelsOfAllRanks() {
        List<float[]> found = Hvd.spawn(2, hvd -> {
            Models.Net net = new Models.Net(7 + hvd.rank());
            AmpOptimizer amp = amp(withMasters(net, ScalarType.Half, 0.05));
            amp.broadcastParameters(0);
            return concatenated(weights(net), copies(amp));
        });

        assertThat(found.get(1)).isEqualTo(found.get(0));
    }

    /** Adasum writes the combined step itself. */
    @Test
    void aStepByAdasumReachesTheModel() {
        Hvd.spawn(2, hvd -> {
            Models.Net net = new Models.Net(7);
            float[] before = weights(net);
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(withMasters(net, ScalarType.Half, 0.05))
                    .op(ReduceOp.ADASUM)
                    .build();
            optimizer.zeroGradients();
            int first = hvd.rank() * 4;
            Tensor output = net.forward(Models.inputs(first, first + 4).to(ScalarType.Half));
            mse_loss(output.to(ScalarType.Float), Models.targets(first, first + 4))
                    .backward();
            optimizer.step();

            float[] copies = copies(optimizer);
            float[] model = inOrder(net, optimizer);
            for (int i = 0; i < copies.length; i++) {
                assertThat(model[i]).isEqualTo(HalfFloat.fromFloat16(HalfFloat.toFloat16(copies[i])));
            }
            assertThat(model).isNotEqualTo(before);
            return null;
        });
    }

    /** The model's values in the optimizer's order. */
    private static float[] inOrder(Module model, Optimizer optimizer) {
        float[] all = new float[0];
        for (Parameter parameter : optimizer.parameters()) {
            all = concatenated(
                    all, TorchTensors.parameters(model).get(parameter.name()).toFloatArray());
        }
        return all;
    }

    /** A layer with a batch norm behind it. */
    private static final class Normed extends Module {
        final LinearImpl dense = register_module("dense", new LinearImpl(4, 3));
        final BatchNorm1dImpl norm = register_module("norm", new BatchNorm1dImpl(new BatchNormOptions(3)));

        Normed() {
            Models.fill(this, 3);
        }
    }

    @Test
    void batchNormsStayInFloat32AndAreTrained() {
        Normed model = new Normed();
        float[] weights = Models.floats(model.norm.weight().detach().clone());
        TorchOptimizer optimizer = withMasters(model, ScalarType.BFloat16, 0.05);
        assertThat(Models.floats(model.norm.weight().detach())).isEqualTo(weights);

        Tensor inputs = Models.inputs(0, 8).narrow(1, 0, 4).to(ScalarType.BFloat16);
        Tensor output = model.norm.forward(model.dense.forward(inputs));
        output.to(ScalarType.Float).square().sum().backward();
        optimizer.step();

        assertThat(TorchTensors.state(model).get("norm.running_mean").dtype()).isEqualTo(DType.FLOAT32);
        assertThat(TorchTensors.state(model).get("norm.num_batches_tracked").dtype())
                .isEqualTo(DType.INT64);
        assertThat(TorchTensors.state(model).get("dense.weight").dtype()).isEqualTo(DType.BFLOAT16);
        assertThat(Models.floats(model.norm.weight().detach())).isNotEqualTo(weights);
    }

    @Test
    void onlyTypesOf16BitsAreTaken() {
        assertThatThrownBy(() -> MasterWeights.of(new Weight(), ScalarType.Double))
                .hasMessageContainingAll("Double", "Half or BFloat16");
    }
}
