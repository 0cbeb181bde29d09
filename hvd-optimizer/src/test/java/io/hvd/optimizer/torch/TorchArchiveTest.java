package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.bytedeco.pytorch.global.torch.manual_seed;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.torch.TwentySteps.Kind;
import io.hvd.optimizer.torch.state.TorchArchive;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Optimizer;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TorchArchiveTest {
    private static final int STEPS = 3;

    @BeforeAll
    static void unpackLibTorch() {
        TorchRuntime.prepare();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void equalStatesAreEqualBytesThoughTheirParametersLieElsewhere(Kind kind) {
        Training one = new Training(kind);
        Training other = new Training(kind);
        one.steps(0, STEPS);
        other.steps(0, STEPS);

        assertThat(one.optimizer.saveState()).isEqualTo(other.optimizer.saveState());
    }

    @Test
    void aStateThatNoArrayHoldsIsRefusedWithItsSize() {
        Training training = new Training(Kind.ADAM);
        training.steps(0, STEPS);
        int whole = TorchArchive.write(training.inner::save, Integer.MAX_VALUE).length;

        assertThatThrownBy(() -> TorchArchive.write(training.inner::save, whole - 1))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.UNSUPPORTED))
                .hasMessageContaining("has " + whole + " bytes")
                .hasMessageContaining("at most " + (whole - 1));
    }

    /** Ranks that are threads save at the same time. The eleventh live callback of a kind would end this JVM. */
    @Test
    void moreThreadsThanThereAreCallbacksSaveAndLoadAtOnce() {
        List<CompletableFuture<Void>> threads = IntStream.range(0, 24)
                .mapToObj(i -> CompletableFuture.runAsync(
                        () -> {
                            Training training = new Training(Kind.ADAM);
                            training.steps(0, STEPS);
                            for (int again = 0; again < 40; again++) {
                                NamedState state = training.optimizer.namedState();
                                training.optimizer.loadNamedState(state);
                                assertThat(training.optimizer.saveState()).isNotEmpty();
                            }
                        },
                        task -> new Thread(task, "saves-" + i).start()))
                .toList();

        threads.forEach(CompletableFuture::join);
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aStateThatWasLoadedIsSavedAsItWas(Kind kind) {
        Training one = new Training(kind);
        one.steps(0, STEPS);
        byte[] state = one.optimizer.saveState();
        Training fresh = new Training(kind);
        assertThat(fresh.optimizer.saveState()).isNotEqualTo(state);

        fresh.optimizer.loadState(state);

        assertThat(fresh.optimizer.saveState()).isEqualTo(state);
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void trainingGoesOnFromALoadedStateAsIfNothingHadBeen(Kind kind) {
        Training whole = new Training(kind);
        whole.steps(0, STEPS);
        byte[] state = whole.optimizer.saveState();
        Training resumed = new Training(kind);
        var saved = TorchTensors.parameters(whole.net);
        TorchTensors.parameters(resumed.net).forEach((name, tensor) -> tensor.copyFrom(saved.get(name)));

        resumed.optimizer.loadState(state);
        resumed.steps(STEPS, 2 * STEPS);
        whole.steps(STEPS, 2 * STEPS);

        Weights.assertSame(TorchTensors.parameters(resumed.net), TorchTensors.parameters(whole.net), 0);
    }

    /** A net, always with the same first weights, and its optimizer. */
    private static final class Training {
        private final RandomImages images = new RandomImages(1, 0);
        private final SmallConvNet net;
        private final Optimizer inner;
        private final TorchOptimizer optimizer;

        Training(Kind kind) {
            manual_seed(1);
            net = new SmallConvNet();
            inner = kind.over(net);
            optimizer = new TorchOptimizer(inner, net.named_parameters());
        }

        void steps(int from, int to) {
            for (int step = from; step < to; step++) {
                try (PointerScope scope = new PointerScope()) {
                    optimizer.zeroGradients();
                    images.loss(net, step).backward();
                    optimizer.step();
                }
            }
        }
    }
}
