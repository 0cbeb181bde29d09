package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** All ranks start, or go on, from what one of them has. */
@Timeout(60)
class OptimizerBroadcastTest {
    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void everyRankGetsTheParametersOfTheRoot(int root) {
        List<float[]> weights = Hvd.spawn(3, hvd -> {
            TinyNet net = new TinyNet(hvd.rank());
            optimizer(net).broadcastParameters(root);
            return net.weights();
        });

        assertThat(weights).containsOnly(new TinyNet(root).weights());
    }

    @Test
    void aParameterThatIsMissingOnOneRankIsNamedAndNothingIsOverwritten() {
        refused(
                hvd -> hvd.rank() == 1
                        ? List.of(parameter("a", 1f), parameter("c", 3f))
                        : List.of(parameter("a", 1f), parameter("b", 2f), parameter("c", 3f)),
                "first difference: b: ",
                "absent on ranks {1}",
                "on ranks {0, 2}");
    }

    @Test
    void aParameterOfAnotherShapeIsNamedWithShapesAndRanks() {
        refused(
                hvd -> List.of(
                        parameter("a", 1f),
                        hvd.rank() == 2 ? parameter("b", 2f, 2f) : parameter("b", 2f),
                        hvd.rank() == 2 ? parameter("c", 3f, 3f) : parameter("c", 3f)),
                "first difference: b: ",
                "[1]\" on ranks {0, 1}",
                "[2]\" on ranks {2}");
    }

    @Test
    void aParameterOfAnotherTypeIsNamedWithTypesAndRanks() {
        refused(
                hvd -> List.of(
                        parameter("a", 1f),
                        hvd.rank() == 0
                                ? RecordingOptimizer.parameter("b", Tensor.of(2.0))
                                : RecordingOptimizer.parameter("b", Tensor.of(2f))),
                "first difference: b: ",
                "\"float64 [1]\" on ranks {0}",
                "\"float32 [1]\" on ranks {1, 2}");
    }

    @Test
    void aParameterOnAGpuHereAndOnTheCpuThereIsNamedBeforeAnythingTravels() {
        List<String> messages = Hvd.spawn(2, hvd -> {
            Parameter mine = hvd.rank() == 1 ? onGpu("b") : parameter("b", 2f, 2f, 2f);
            try {
                DistributedOptimizer.wrap(new RecordingOptimizer(List.of(parameter("a", 1f), mine)))
                        .build()
                        .broadcastParameters(0);
                return "nothing was thrown";
            } catch (HvdException e) {
                return e.getMessage();
            }
        });

        assertThat(messages)
                .hasSize(2)
                .allSatisfy(message -> assertThat(message)
                        .contains("nothing was broadcast", "b: ", "[3]\" on ranks {0}", "[3] on a GPU\" on ranks {1}"));
    }

    /** The made-up address is never touched. */
    @Test
    void aRankThatIsAloneHasNobodyToBroadcastItsGpuMemoryTo() {
        List<Float> weights = Hvd.spawn(1, hvd -> {
            Parameter onHost = parameter("a", 5f);
            DistributedOptimizer.wrap(new RecordingOptimizer(List.of(onHost, onGpu("b"))))
                    .build()
                    .broadcastParameters(0);
            return onHost.value().item();
        });

        assertThat(weights).containsExactly(5f);
    }

    private static Parameter onGpu(String name) {
        Tensor madeUp = Tensor.onDevice(0x7f00_dead_0000L, Device.cuda(0), 0, DType.FLOAT32, Shape.of(3));
        return new Parameter(name, madeUp, madeUp);
    }

    static List<Arguments> optimizers() {
        Function<TinyNet, Optimizer> sgd = net -> new Sgd(net.parameters, 0.05, 0.9, 0.01);
        Function<TinyNet, Optimizer> adam = net -> new Adam(net.parameters, 0.01);
        return List.of(Arguments.of(Named.of("SGD", sgd)), Arguments.of(Named.of("Adam", adam)));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("optimizers")
    void aRankThatContinuesFromTheBroadcastStateStepsExactlyAsTheRoot(Function<TinyNet, Optimizer> make) {
        int root = 1;
        List<float[]> weights = Hvd.spawn(3, hvd -> {
            TinyNet net = new TinyNet(hvd.rank());
            Optimizer inner = make.apply(net);
            if (hvd.rank() == root) {
                inner.learningRate(0.002);
            }
            for (int i = 0; i < 3 + hvd.rank(); i++) {
                stepAlone(net, inner, i);
            }
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(inner).build();
            optimizer.broadcastParameters(root);
            optimizer.broadcastOptimizerState(root);
            assertThat(optimizer.learningRate()).isEqualTo(0.002);
            for (int i = 10; i < 15; i++) {
                stepAlone(net, inner, i);
            }
            return net.weights();
        });

        TinyNet net = new TinyNet(root);
        Optimizer undisturbed = make.apply(net);
        undisturbed.learningRate(0.002);
        for (int i : List.of(0, 1, 2, 3, 10, 11, 12, 13, 14)) {
            stepAlone(net, undisturbed, i);
        }
        assertThat(weights).containsOnly(net.weights());
    }

    @Test
    void aStateThatHasNotStepsYetResetsTheOthers() {
        List<float[]> weights = Hvd.spawn(2, hvd -> {
            TinyNet net = new TinyNet(5);
            Optimizer inner = new Sgd(net.parameters, 0.05, 0.9, 0);
            if (hvd.rank() == 1) {
                stepAlone(net, inner, 0);
            }
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(inner).build();
            optimizer.broadcastParameters(0);
            optimizer.broadcastOptimizerState(0);
            stepAlone(net, inner, 1);
            return net.weights();
        });

        assertThat(weights.get(1)).isEqualTo(weights.get(0));
    }

    private static void stepAlone(TinyNet net, Optimizer optimizer, int sample) {
        optimizer.zeroGradients();
        net.backward(sample, sample + 1);
        optimizer.step();
    }

    private static DistributedOptimizer optimizer(TinyNet net) {
        return DistributedOptimizer.wrap(new Sgd(net.parameters, 0.1)).build();
    }

    private static Parameter parameter(String name, float... values) {
        return RecordingOptimizer.parameter(name, Tensor.of(values));
    }

    private static void refused(Function<HvdContext, List<Parameter>> parametersOf, String... facts) {
        Hvd.spawn(3, hvd -> {
            List<Parameter> parameters = parametersOf.apply(hvd);
            List<float[]> before = valuesOf(parameters);
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(new RecordingOptimizer(parameters))
                    .build();

            assertThatThrownBy(() -> optimizer.broadcastParameters(2))
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.STATE_MISMATCH))
                    .message()
                    .contains(facts);

            assertThat(valuesOf(parameters)).usingRecursiveComparison().isEqualTo(before);
            return null;
        });
    }

    private static List<float[]> valuesOf(List<Parameter> parameters) {
        List<float[]> values = new ArrayList<>();
        parameters.forEach(parameter -> values.add(parameter.value().toFloatArray()));
        return values;
    }
}
