package io.hvd.optimizer.torch;

import static io.hvd.optimizer.torch.Models.weights;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.DistributedOptimizer;
import java.util.List;
import java.util.function.Function;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Momentum, counters and hyper-parameters of LibTorch's optimizers, saved, loaded and broadcast. */
@Timeout(120)
class TorchStateTest {
    private static final Function<Module, Optimizer> SGD = net -> new SGD(net.parameters(), Models.sgd(0.05));
    private static final Function<Module, Optimizer> ADAM = net -> new Adam(net.parameters(), Models.adam(0.01));

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    static List<Arguments> optimizers() {
        return List.of(Arguments.of(Named.of("SGD", SGD)), Arguments.of(Named.of("Adam", ADAM)));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("optimizers")
    void continuingFromASavedStateEqualsNotHavingStopped(Function<Module, Optimizer> make) {
        Models.Net net = new Models.Net(7);
        TorchOptimizer optimizer = torchOptimizer(net, make);
        steps(net, optimizer, 0, 4);
        Models.Net resumed = new Models.Net(7);
        steps(resumed, torchOptimizer(resumed, make), 0, 4);
        optimizer.learningRate(0.004);

        TorchOptimizer fresh = torchOptimizer(resumed, make);
        fresh.loadState(optimizer.saveState());

        assertThat(fresh.learningRate()).isEqualTo(0.004);
        steps(net, optimizer, 4, 8);
        steps(resumed, fresh, 4, 8);
        assertThat(weights(resumed)).isEqualTo(weights(net));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("optimizers")
    void aStateWithoutStepsIsRefusedByAnOptimizerThatHasSome(Function<Module, Optimizer> make) {
        byte[] fresh = torchOptimizer(new Models.Net(7), make).saveState();
        Models.Net net = new Models.Net(7);
        TorchOptimizer optimizer = torchOptimizer(net, make);
        optimizer.loadState(fresh);
        steps(net, optimizer, 0, 3);

        assertMismatch(optimizer, fresh, "no step");
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("optimizers")
    void aRankThatContinuesFromTheBroadcastStateStepsExactlyAsTheRoot(Function<Module, Optimizer> make) {
        int root = 1;
        List<float[]> trained = Hvd.spawn(3, hvd -> {
            Models.Net net = new Models.Net(hvd.rank());
            TorchOptimizer inner = torchOptimizer(net, make);
            if (hvd.rank() == root) {
                inner.learningRate(0.002);
            }
            if (hvd.rank() > 0) {
                steps(net, inner, 0, 2 * hvd.rank());
            }
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(inner).build();
            optimizer.broadcastParameters(root);
            optimizer.broadcastOptimizerState(root);
            assertThat(optimizer.learningRate()).isEqualTo(0.002);
            for (int i = 10; i < 13; i++) {
                optimizer.zeroGradients();
                net.loss(i, i + 1).backward();
                optimizer.step();
            }
            return weights(net);
        });

        Models.Net net = new Models.Net(root);
        TorchOptimizer undisturbed = torchOptimizer(net, make);
        undisturbed.learningRate(0.002);
        steps(net, undisturbed, 0, 2);
        steps(net, undisturbed, 10, 13);
        assertThat(trained.get(0)).isEqualTo(trained.get(1));
        assertThat(trained.get(2)).isEqualTo(trained.get(1));
        io.hvd.optimizer.Closeness.assertClose(trained.get(1), weights(net), 1e-6);
    }

    @Test
    void aStateOfAnotherOptimizerIsRefusedAndNothingChanges() {
        refused(ADAM, torchOptimizer(new Models.Net(7), SGD), "SGD", "Adam");
        refused(SGD, torchOptimizer(new Models.Net(7), ADAM), "SGD", "Adam");
    }

    @Test
    void aStateOfAnUnusedOptimizerOfAnotherKindIsRefusedToo() {
        Models.Net net = new Models.Net(7);
        byte[] foreign = torchOptimizer(net, SGD).saveState();
        assertMismatch(torchOptimizer(net, ADAM), foreign, "SGD", "Adam");
    }

    @Test
    void aStateForOtherParametersIsRefusedAndNothingChanges() {
        Module other = new Module();
        for (String name : List.of("a", "b", "c", "d")) {
            Models.parameter(other, name, 1, 2, 3);
        }
        TorchOptimizer optimizer = torchOptimizer(other, SGD);
        optimizer.step();
        refused(SGD, optimizer, "\"a float32[3]\"", "\"dense1.weight float32[8, 5]\"");
    }

    @Test
    void bytesThatAreNoStateAreRefused() {
        TorchOptimizer optimizer = torchOptimizer(new Models.Net(7), SGD);
        assertMismatch(optimizer, new byte[0], "0 bytes");
        assertMismatch(optimizer, "no state at all".getBytes(java.nio.charset.StandardCharsets.UTF_8), "15 bytes");
        byte[] damaged = optimizer.saveState();
        assertMismatch(optimizer, java.util.Arrays.copyOf(damaged, damaged.length / 2), "damaged");
    }

    @Test
    void theRateOfEveryParameterGroupIsSet() {
        Models.Net net = new Models.Net(7);
        TorchOptimizer optimizer = torchOptimizer(net, ADAM);
        assertThat(optimizer.learningRate()).isEqualTo(0.01);
        optimizer.learningRate(0.5);
        assertThat(optimizer.learningRate()).isEqualTo(0.5);
    }

    private static void refused(Function<Module, Optimizer> make, TorchOptimizer foreign, String... facts) {
        Models.Net disturbed = new Models.Net(7);
        TorchOptimizer optimizer = torchOptimizer(disturbed, make);
        Models.Net undisturbed = new Models.Net(7);
        TorchOptimizer twin = torchOptimizer(undisturbed, make);
        steps(disturbed, optimizer, 0, 3);
        steps(undisturbed, twin, 0, 3);

        assertMismatch(optimizer, foreign.saveState(), facts);

        steps(disturbed, optimizer, 3, 6);
        steps(undisturbed, twin, 3, 6);
        assertThat(weights(disturbed)).isEqualTo(weights(undisturbed));
    }

    private static void assertMismatch(TorchOptimizer optimizer, byte[] state, String... facts) {
        assertThatThrownBy(() -> optimizer.loadState(state))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.STATE_MISMATCH))
                .message()
                .contains(facts);
    }

    private static void steps(Models.Net net, TorchOptimizer optimizer, int from, int to) {
        for (int i = from; i < to; i++) {
            optimizer.zeroGradients();
            net.loss(i, i + 1).backward();
            optimizer.step();
        }
    }

    private static TorchOptimizer torchOptimizer(Module net, Function<Module, Optimizer> make) {
        return new TorchOptimizer(make.apply(net), net.named_parameters());
    }
}
