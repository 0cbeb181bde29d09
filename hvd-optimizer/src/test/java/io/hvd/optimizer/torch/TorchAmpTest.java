package io.hvd.optimizer.torch;

import static io.hvd.optimizer.Closeness.assertClose;
import static io.hvd.optimizer.torch.Models.weights;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.bytedeco.pytorch.global.torch.mse_loss;

import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.GradScaler;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.RangeControl;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Mixed precision with real LibTorch gradients. */
@Timeout(120)
class TorchAmpTest {
    private static final int STEPS = 20;

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    private static AmpOptimizer.Builder amp(Module net) {
        return AmpOptimizer.wrap(DistributedOptimizer.wrap(
                        new TorchOptimizer(new SGD(net.parameters(), Models.sgd(0.05)), net.named_parameters()))
                .bucketBytes(64)
                .build());
    }

    private static float[] unscaled(int size) {
        Models.Net net = new Models.Net(7);
        SGD sgd = new SGD(net.parameters(), Models.sgd(0.05));
        for (int step = 0; step < STEPS; step++) {
            sgd.zero_grad();
            net.loss(step * 4 * size, (step + 1) * 4 * size).backward();
            sgd.step();
        }
        return weights(net);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void aScaledTrainingIsAnUnscaledOneWithAllOfTheBatch(int size) {
        float[] expected = unscaled(size);

        List<float[]> trained = Hvd.spawn(size, hvd -> {
            Models.Net net = new Models.Net(7);
            AmpOptimizer amp = amp(net).scaler(
                            GradScaler.builder().growthInterval(7).build())
                    .build();
            for (int step = 0; step < STEPS; step++) {
                try (PointerScope scope = new PointerScope()) {
                    amp.zeroGradients();
                    int from = (step * size + hvd.rank()) * 4;
                    Tensor loss = net.loss(from, from + 4);
                    amp.backward(scale -> TorchOptimizer.backward(loss, scale));
                    amp.step();
                }
            }
            assertThat(amp.scaler().scale()).isEqualTo(65536 * 4);
            return weights(net);
        });

        for (float[] ofRank : trained) {
            assertThat(ofRank).isEqualTo(trained.get(0));
            assertClose(ofRank, expected, 1e-5);
        }
    }

    /** Losses of a billionth, at a rate of a billion: float16 would have made zeros of their gradients. */
    @Test
    void rangeControlKeepsTheSmallGradientsOfHooks() {
        float[] expected = weights(withTinyLosses(null));
        float[] untrained = weights(new Models.Net(7));

        List<float[]> trained = Hvd.spawn(2, hvd -> weights(withTinyLosses(hvd)));

        for (float[] ofRank : trained) {
            assertThat(ofRank).isEqualTo(trained.get(0));
            assertClose(ofRank, expected, 2e-3);
        }
        assertThat(Math.abs(untrained[0] - expected[0])).as("it has learnt").isGreaterThan(0.01f);
    }

    /** @param hvd null for one process with the batches of both ranks */
    private static Models.Net withTinyLosses(HvdContext hvd) {
        Models.Net net = new Models.Net(7);
        var sgd = new TorchOptimizer(new SGD(net.parameters(), new SGDOptions(0.05e9)), net.named_parameters());
        Optimizer optimizer = hvd == null
                ? sgd
                : DistributedOptimizer.wrap(sgd)
                        .context(hvd)
                        .bucketBytes(64)
                        .compression(Compression.FP16)
                        .rangeControl(RangeControl.every(8))
                        .build();
        int first = hvd == null ? 0 : 4 * hvd.rank();
        int count = hvd == null ? 8 : 4;
        for (int step = 0; step < STEPS; step++) {
            try (PointerScope scope = new PointerScope()) {
                optimizer.zeroGradients();
                int from = step * 8 + first;
                net.loss(from, from + count).mul(new Scalar(1e-9)).backward();
                optimizer.step();
            }
        }
        return net;
    }

    /** The losses of single steps differ by the rounding; the way that the weights take does not. */
    @ParameterizedTest
    @CsvSource({"BFloat16, 4e-2", "Half, 1e-2"})
    void autocastTrainsNearlyAsFloat32Does(ScalarType type, double tolerance) {
        float[] expected = unscaled(2);

        List<float[]> trained = Hvd.spawn(2, hvd -> {
            Models.Net net = new Models.Net(7);
            // With 65536 the gradients of the output overflow in float16.
            AmpOptimizer amp = amp(net).scaler(
                            GradScaler.builder().initScale(1024).build())
                    .clipGradientNorm(1e6)
                    .build();
            for (int step = 0; step < STEPS; step++) {
                try (PointerScope scope = new PointerScope()) {
                    amp.zeroGradients();
                    int from = (step * 2 + hvd.rank()) * 4;
                    List<Tensor> loss = new ArrayList<>();
                    try (Autocast narrow = Autocast.to(type, DeviceType.CPU)) {
                        loss.add(net.loss(from, from + 4));
                    }
                    amp.backward(scale -> TorchOptimizer.backward(loss.get(0), scale));
                    amp.step();
                }
            }
            assertThat(amp.skippedSteps()).isZero();
            return weights(net);
        });

        assertThat(trained.get(1)).isEqualTo(trained.get(0)).isNotEqualTo(expected);
        assertClose(trained.get(0), expected, tolerance);
    }

    /** A gradient of 1e-9 is less than half of the smallest float16, and 65536 times as much is not. */
    @Test
    void whatWouldVanishInFloat16DoesNotWithAScale() {
        Hvd.spawn(2, hvd -> {
            assertThat(gradientOfSmallLoss(GradScaler.disabled())).isZero();
            assertThat(gradientOfSmallLoss(new GradScaler())).isCloseTo(1e-9f, within(1e-11f));
            return null;
        });
    }

    private static float gradientOfSmallLoss(GradScaler scaler) {
        Module net = new Module();
        Tensor weight = Models.parameter(net, "w", 1);
        DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                        new TorchOptimizer(new SGD(net.parameters(), Models.sgd(0.05)), net.named_parameters()))
                .build();
        Tensor loss = weight.to(ScalarType.Half).sum().to(ScalarType.Float).mul(new Scalar(1e-9));
        TorchOptimizer.backward(loss, scaler.scale(1));
        scaler.unscale(optimizer);
        return weight.grad().item_float();
    }

    @ParameterizedTest
    @EnumSource(
            value = ScalarType.class,
            names = {"Float", "Double", "BFloat16"})
    void anOverflowOnOneRankOfFourSkipsTheStepOfAll(ScalarType type) {
        Hvd.spawn(4, hvd -> {
            Models.Net net = new Models.Net(7);
            net.to(type, false);
            AmpOptimizer amp = amp(net).build();
            for (int step = 0; step < 3; step++) {
                float[] before = weights(net);
                amp.zeroGradients();
                boolean bad = step == 1 && hvd.rank() == 3;
                Tensor loss = mse_loss(
                                net.forward(Models.inputs(0, 2).to(type)),
                                Models.targets(0, 2).to(type))
                        .mul(new Scalar(bad ? Double.POSITIVE_INFINITY : 1));
                amp.backward(scale -> TorchOptimizer.backward(loss, scale));
                amp.step();
                assertThat(amp.stepped()).as("step %d", step).isEqualTo(step != 1);
                assertThat(Arrays.equals(weights(net), before)).isEqualTo(step == 1);
            }
            assertThat(amp.scaler().scale()).isEqualTo(32768);
            assertThat(amp.scaler().growthTracker()).isEqualTo(1);
            return null;
        });
    }

    @Test
    void gradientsAreClippedByLibTorch() {
        Hvd.spawn(2, hvd -> {
            Module net = new Module();
            Tensor weight = Models.parameter(net, "w", 0, 0);
            AmpOptimizer amp = amp(net).clipGradientNorm(2.5).build();
            Tensor loss =
                    weight.mul(Models.tensor(6 * hvd.rank(), 8 * hvd.rank())).sum();
            amp.backward(scale -> TorchOptimizer.backward(loss, scale));
            amp.step();
            assertThat(amp.lastGradientNorm()).isCloseTo(5, within(1e-6));
            assertThat(Models.floats(weight.grad())[0]).isCloseTo(1.5f, within(1e-5f));
            assertThat(Models.floats(weight.grad())[1]).isCloseTo(2, within(1e-5f));
            return null;
        });
    }
}
