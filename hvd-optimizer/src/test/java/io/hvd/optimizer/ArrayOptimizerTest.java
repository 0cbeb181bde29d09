package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The optimizers on plain arrays by themselves; that they agree with LibTorch's is shown beside its adapter. */
class ArrayOptimizerTest {
    static List<Arguments> optimizers() {
        Function<TinyNet, Optimizer> plain = net -> new Sgd(net.parameters, 0.05);
        Function<TinyNet, Optimizer> sgd = net -> new Sgd(net.parameters, 0.05, 0.9, 0.01);
        Function<TinyNet, Optimizer> adam = net -> new Adam(net.parameters, 0.01);
        Function<TinyNet, Optimizer> nesterov = net -> Sgd.nesterov(net.parameters, 0.05, 0.9, 0.01);
        Function<TinyNet, Optimizer> adamW = net -> new AdamW(net.parameters, 0.01);
        Function<TinyNet, Optimizer> rmsProp = net -> new RmsProp(net.parameters, 0.01, 0.99, 1e-8, 0.5, 0);
        Function<TinyNet, Optimizer> adagrad = net -> new Adagrad(net.parameters, 0.1, 0.1, 0, 1e-10);
        Function<TinyNet, Optimizer> adadelta = net -> new Adadelta(net.parameters, 1);
        Function<TinyNet, Optimizer> lars = net -> new Lars(net.parameters, 2);
        Function<TinyNet, Optimizer> lamb = net -> new Lamb(net.parameters, 0.01);
        return List.of(
                Arguments.of(Named.of("plain SGD", plain)),
                Arguments.of(Named.of("SGD with momentum", sgd)),
                Arguments.of(Named.of("Adam", adam)),
                Arguments.of(Named.of("Nesterov", nesterov)),
                Arguments.of(Named.of("AdamW", adamW)),
                Arguments.of(Named.of("RMSprop", rmsProp)),
                Arguments.of(Named.of("Adagrad", adagrad)),
                Arguments.of(Named.of("Adadelta", adadelta)),
                Arguments.of(Named.of("LARS", lars)),
                Arguments.of(Named.of("LAMB", lamb)));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("optimizers")
    void continuingFromASavedStateEqualsNotHavingStopped(Function<TinyNet, Optimizer> make) {
        TinyNet net = new TinyNet(3);
        Optimizer optimizer = make.apply(net);
        steps(net, optimizer, 0, 4);
        optimizer.learningRate(0.03);

        TinyNet resumed = new TinyNet(3);
        steps(resumed, make.apply(resumed), 0, 4);
        Optimizer fresh = make.apply(resumed);
        fresh.loadState(optimizer.saveState());
        assertThat(fresh.learningRate()).isEqualTo(0.03);

        steps(net, optimizer, 4, 8);
        steps(resumed, fresh, 4, 8);
        assertThat(resumed.weights()).isEqualTo(net.weights());
    }

    @Test
    void plainGradientDescentMovesAgainstTheGradientTimesTheRate() {
        float[] value = {1, 2};
        Sgd sgd = new Sgd(new ArrayParameters().add("w", value, new float[] {10, -20}), 0.1);
        sgd.step();
        assertThat(value).containsExactly(0, 4);
    }

    @Test
    void theFirstStepOfAdamHasTheLengthOfTheRate() {
        float[] value = {1, 2};
        Adam adam = new Adam(new ArrayParameters().add("w", value, new float[] {1000, -0.001f}), 0.125);
        adam.step();
        Closeness.assertClose(value, new float[] {0.875f, 2.125f}, 1e-4);
    }

    @Test
    void aStateOfAnotherOptimizerIsRefusedAndNothingChanges() {
        TinyNet net = new TinyNet(3);
        Optimizer adam = new Adam(net.parameters, 0.01);
        steps(net, adam, 0, 2);
        byte[] before = adam.saveState();

        byte[] foreign = new Sgd(net.parameters, 0.5, 0.9, 0).saveState();
        assertThatThrownBy(() -> adam.loadState(foreign))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.STATE_MISMATCH))
                .hasMessageContaining("\"Sgd with velocity\"")
                .hasMessageContaining("\"Adam with means and means of squares\"");
        assertThat(adam.saveState()).isEqualTo(before);
        assertThat(adam.learningRate()).isEqualTo(0.01);
    }

    @Test
    void zeroingForgetsTheGradients() {
        TinyNet net = new TinyNet(3);
        net.backward(0, 2);
        assertThat(net.gradients()).doesNotContain(0f);
        new Sgd(net.parameters, 0.1).zeroGradients();
        assertThat(net.gradients()).containsOnly(0f);
    }

    private static void steps(TinyNet net, Optimizer optimizer, int from, int to) {
        for (int i = from; i < to; i++) {
            optimizer.zeroGradients();
            net.backward(i, i + 1);
            optimizer.step();
        }
    }
}
