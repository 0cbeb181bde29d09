package io.hvd.optimizer.torch;

import static io.hvd.optimizer.Closeness.assertClose;
import static io.hvd.optimizer.torch.Models.floats;
import static io.hvd.optimizer.torch.Models.weights;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.hvd.Hvd;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.gradient.GradientHook;
import java.util.List;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.EmbeddingOptions;
import org.bytedeco.pytorch.LBFGS;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Gradients that come twice, late, never or in another layout. */
@Timeout(120)
class TorchGradientsTest {
    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    @Test
    void aParameterThatIsUsedTwiceTravelsOnceWithTheSum() {
        Hvd.spawn(2, hvd -> {
            Module net = new Module();
            Tensor w = Models.parameter(net, "w", 2, 3);
            DistributedOptimizer optimizer = distributed(net);

            // d/dw of k * w * w is 2 * k * w.
            w.mul(w).mul(new Scalar(1.0 + hvd.rank())).sum().backward();
            optimizer.step();

            assertThat(floats(w)).containsExactly(2 - 1.5f * 4, 3 - 1.5f * 6);
            return null;
        });
    }

    @Test
    void aWeightOfTwoLayersTrainsAsOnOneRank() {
        Tied plain = new Tied();
        SGD sgd = new SGD(plain.parameters(), Models.sgd(0.05));
        for (int step = 0; step < 5; step++) {
            sgd.zero_grad();
            plain.loss(8 * step, 8 * step + 8).backward();
            sgd.step();
        }

        List<float[]> trained = Hvd.spawn(2, hvd -> {
            Tied net = new Tied();
            var optimizer = DistributedOptimizer.wrap(
                            new TorchOptimizer(new SGD(net.parameters(), Models.sgd(0.05)), net.named_parameters()))
                    .build();
            for (int step = 0; step < 5; step++) {
                optimizer.zeroGradients();
                int from = 8 * step + 4 * hvd.rank();
                net.loss(from, from + 4).backward();
                optimizer.step();
            }
            return weights(net);
        });

        assertThat(trained.get(1)).isEqualTo(trained.get(0));
        assertClose(trained.get(0), weights(plain), 1e-5);
    }

    @Test
    void aParameterThatTwoModulesShareTravelsOnce() {
        Hvd.spawn(2, hvd -> {
            Module net = new Module();
            Tensor w = Models.parameter(net, "encoder", 2);
            net.register_parameter("decoder", w, true);
            DistributedOptimizer optimizer = distributed(net);
            assertThat(optimizer.parameters())
                    .extracting(io.hvd.optimizer.Parameter::name)
                    .containsExactly("encoder");

            w.mul(new Scalar(1.0 + hvd.rank())).sum().backward();
            optimizer.synchronize();
            assertThat(floats(w.grad())).containsExactly(1.5f);
            return null;
        });
    }

    @Test
    void aParameterThatOneRankDoesNotUseCountsAsZerosThere() {
        Hvd.spawn(2, hvd -> {
            Module net = new Module();
            Tensor shared = Models.parameter(net, "shared", 1);
            Tensor sometimes = Models.parameter(net, "sometimes", 10, 20);
            DistributedOptimizer optimizer = distributed(net);
            for (int step = 1; step <= 2; step++) {
                optimizer.zeroGradients();
                Tensor loss = shared.mul(Models.tensor(4)).sum();
                if (hvd.rank() == 0) {
                    loss = loss.add(sometimes.mul(Models.tensor(6, 8)).sum());
                }
                loss.backward();
                optimizer.step();

                assertThat(floats(shared)).containsExactly(1 - 4 * step);
                assertThat(floats(sometimes)).containsExactly(10 - 3 * step, 20 - 4 * step);
            }
            return null;
        });
    }

    @Test
    void aParameterThatNobodyUsesStaysAsItIs() {
        Hvd.spawn(2, hvd -> {
            Module net = new Module();
            Tensor used = Models.parameter(net, "used", 1);
            Tensor never = Models.parameter(net, "never", 5, 6);
            DistributedOptimizer optimizer = distributed(net);
            for (int step = 0; step < 2; step++) {
                optimizer.zeroGradients();
                used.sum().backward();
                optimizer.step();
            }
            assertThat(floats(used)).containsExactly(-1);
            assertThat(floats(never)).containsExactly(5, 6);
            return null;
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void gradientsThatNobodyZeroesAddUpAsInLibTorch(int passes) {
        Models.Net plain = new Models.Net(7);
        SGD sgd = new SGD(plain.parameters(), new SGDOptions(0.02));
        for (int step = 0; step < 4; step++) {
            for (int pass = 0; pass < passes; pass++) {
                int from = 8 * (passes * step + pass);
                plain.loss(from, from + 8).backward();
            }
            sgd.step();
        }

        List<float[]> trained = Hvd.spawn(2, hvd -> {
            Models.Net net = new Models.Net(7);
            var optimizer = DistributedOptimizer.wrap(
                            new TorchOptimizer(new SGD(net.parameters(), new SGDOptions(0.02)), net.named_parameters()))
                    .backwardPassesPerStep(passes)
                    .build();
            for (int step = 0; step < 4; step++) {
                for (int pass = 0; pass < passes; pass++) {
                    int from = 8 * (passes * step + pass) + 4 * hvd.rank();
                    net.loss(from, from + 4).backward();
                }
                optimizer.step();
            }
            return weights(net);
        });

        assertThat(trained.get(1)).isEqualTo(trained.get(0));
        assertClose(trained.get(0), weights(plain), 1e-5);
    }

    @Test
    void zeroingInFlightIsRefusedWithRealGradientsToo() {
        Hvd.spawn(2, hvd -> {
            Module net = new Module();
            Tensor w = Models.parameter(net, "w", 1);
            DistributedOptimizer optimizer = distributed(net);
            w.mul(new Scalar(1.0 + hvd.rank())).sum().backward();
            assertThatThrownBy(optimizer::zeroGradients).hasMessageContaining("[w]");
            optimizer.step();
            assertThat(floats(w)).containsExactly(-0.5f);
            return null;
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void averagedGradientsLieWhereLibTorchAndTheCallerLookForThem(int size) {
        Hvd.spawn(size, hvd -> {
            Module net = new Module();
            Tensor w = Models.parameter(net, "w", 1, 1);
            DistributedOptimizer optimizer = distributed(net);
            w.mul(Models.tensor(100, 100 + 200 * hvd.rank())).sum().backward();
            optimizer.synchronize();
            float second = size == 1 ? 100 : 200;
            assertThat(floats(w.grad())).containsExactly(100, second);
            io.hvd.tensor.Tensor gradient = optimizer.parameters().get(0).gradient();
            assertThat(gradient.toFloatArray()).containsExactly(100, second);

            gradient.copyFrom(io.hvd.tensor.Tensor.of(3f, 4f));
            try (var skip = optimizer.skipSynchronize()) {
                optimizer.step();
            }
            assertThat(floats(w)).as("the clipped gradient is stepped").containsExactly(-2, -3);
            return null;
        });
    }

    @Test
    void frozenParametersNeitherTravelNorMove() {
        Hvd.spawn(2, hvd -> {
            Models.Net net = new Models.Net(7);
            net.dense1.weight().requires_grad_(false);
            net.dense1.bias().requires_grad_(false);
            float[] frozen = floats(net.dense1.weight());
            float[] trained = floats(net.dense2.weight());
            DistributedOptimizer optimizer = distributed(net);

            assertThat(optimizer.parameters())
                    .extracting(io.hvd.optimizer.Parameter::name)
                    .containsExactly("dense2.weight", "dense2.bias");
            net.loss(2 * hvd.rank(), 2 * hvd.rank() + 2).backward();
            optimizer.step();

            assertThat(floats(net.dense1.weight())).isEqualTo(frozen);
            assertThat(floats(net.dense2.weight())).isNotEqualTo(trained);
            return null;
        });
    }

    /** As in training two nets against each other, where each step is one net's. */
    @Test
    void parametersMayBeFrozenInTurns() {
        Hvd.spawn(2, hvd -> {
            Models.Net net = new Models.Net(7);
            DistributedOptimizer optimizer = distributed(net);
            for (int step = 0; step < 4; step++) {
                boolean first = step % 2 == 0;
                net.dense1.weight().requires_grad_(first);
                net.dense1.bias().requires_grad_(first);
                net.dense2.weight().requires_grad_(!first);
                net.dense2.bias().requires_grad_(!first);
                float[] one = floats(net.dense1.weight());
                float[] two = floats(net.dense2.weight());

                optimizer.zeroGradients();
                net.loss(2 * hvd.rank(), 2 * hvd.rank() + 2).backward();
                optimizer.step();

                assertThat(java.util.Arrays.equals(floats(net.dense1.weight()), one))
                        .as("dense1 stays in step %s", step)
                        .isEqualTo(!first);
                assertThat(java.util.Arrays.equals(floats(net.dense2.weight()), two))
                        .as("dense2 stays in step %s", step)
                        .isEqualTo(first);
                float[] mine = floats(net.dense1.weight());
                assertThat(hvd.broadcast("frozen." + step, io.hvd.tensor.Tensor.of(mine), 0)
                                .toFloatArray())
                        .isEqualTo(mine);
            }
            return null;
        });
    }

    @Test
    void sparseGradientsAreRefusedWithTheNameAndTheRemedy() {
        Hvd.spawn(2, hvd -> {
            Words words = new Words(true);
            DistributedOptimizer optimizer = distributed(words);
            assertThatThrownBy(() -> words.loss(1, 2).backward())
                    .isInstanceOf(RuntimeException.class)
                    .hasMessageContaining("\"embedding.weight\"")
                    .hasMessageContaining("sparse")
                    .hasMessageContaining("sparseAsDense");
            assertThat(optimizer.lastStep().bytes()).isZero();
            return null;
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void sparseGradientsTravelAsDenseOnesWhenAsked(int passes) {
        List<float[]> sparse = Hvd.spawn(2, hvd -> trainWords(new Words(true), hvd.rank(), passes, passes));
        List<float[]> dense = Hvd.spawn(2, hvd -> trainWords(new Words(false), hvd.rank(), passes, passes));

        assertThat(sparse.get(0)).isEqualTo(sparse.get(1)).isEqualTo(dense.get(0));
        assertThat(sparse.get(0)).isNotEqualTo(weights(new Words(true)));
    }

    @Test
    void sparseGradientsOfTooFewPassesTravelToo() {
        List<float[]> sparse = Hvd.spawn(2, hvd -> trainWords(new Words(true), hvd.rank(), 1, 2));
        List<float[]> dense = Hvd.spawn(2, hvd -> trainWords(new Words(false), hvd.rank(), 1, 2));

        assertThat(sparse.get(0)).isEqualTo(sparse.get(1)).isEqualTo(dense.get(0));
        assertThat(sparse.get(0)).isNotEqualTo(weights(new Words(true)));
    }

    @Test
    void aBackwardPassTooManyLeavesBackwardWithOurWordsAndTheNextStepWorks() {
        Hvd.spawn(2, hvd -> {
            Module net = new Module();
            Tensor w = Models.parameter(net, "w", 1);
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(torchOptimizer(net))
                    .backwardPassesPerStep(2)
                    .build();
            w.sum().backward();
            w.sum().backward();
            assertThatThrownBy(() -> w.sum().backward())
                    .isInstanceOf(RuntimeException.class)
                    .hasMessageContaining("\"w\"")
                    .hasMessageContaining("pass 3")
                    .hasMessageContaining("allowed are 2");

            optimizer.synchronize();
            optimizer.zeroGradients();
            w.mul(Models.tensor(2 * hvd.rank())).sum().backward();
            w.mul(Models.tensor(10)).sum().backward();
            optimizer.step();
            assertThat(floats(w)).containsExactly(1 - 11);
            return null;
        });
    }

    /** The hooks of both ranks throw the same words, at about the same time. */
    @Test
    void whatAHookThrowsReachesTheCallerOfBackwardAsItself() {
        Hvd.spawn(2, hvd -> {
            Words words = new Words(true);
            DistributedOptimizer optimizer = distributed(words);
            assertThatThrownBy(() -> TorchOptimizer.backward(words.loss(1, 2)))
                    .isInstanceOfSatisfying(HvdException.class, e -> {
                        assertThat(e.id()).isEqualTo(ErrorId.UNSUPPORTED);
                        assertThat(e).hasMessageContainingAll("\"embedding.weight\"", "sparseAsDense");
                        assertThat(e.getCause()).isInstanceOf(HvdException.class);
                        assertThat(e.getCause().getStackTrace()[0].getClassName())
                                .as("where it was thrown")
                                .isEqualTo(GradientHook.class.getName());
                        assertThat(e.getSuppressed()).singleElement().isInstanceOf(RuntimeException.class);
                    });
            assertThat(optimizer.lastStep().bytes()).isZero();
            return null;
        });
    }

    @Test
    void whatLibTorchItselfThrowsStaysAsItIs() {
        Tensor withoutGraph = Models.tensor(1, 2);
        Throwable plain = catchThrowable(withoutGraph::backward);
        assertThatThrownBy(() -> TorchOptimizer.backward(withoutGraph))
                .isExactlyInstanceOf(plain.getClass())
                .hasNoCause();
    }

    @Test
    void aStepWithoutABackwardSinceTheLastOneIsRefusedAndChangesNothing() {
        Hvd.spawn(2, hvd -> {
            Module net = new Module();
            Tensor w = Models.parameter(net, "w", 1);
            DistributedOptimizer optimizer = distributed(net);
            withoutBackward(optimizer, hvd.rank());

            w.mul(Models.tensor(2 + 4 * hvd.rank())).sum().backward();
            optimizer.step();
            withoutBackward(optimizer, hvd.rank());
            optimizer.zeroGradients();
            withoutBackward(optimizer, hvd.rank());
            assertThat(floats(w)).containsExactly(1 - 4);

            w.mul(Models.tensor(2 + 4 * hvd.rank())).sum().backward();
            optimizer.step();
            assertThat(floats(w)).containsExactly(1 - 8);
            return null;
        });
    }

    private static void withoutBackward(DistributedOptimizer optimizer, int rank) {
        assertThatThrownBy(optimizer::step)
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                .hasMessageContainingAll(
                        "step() on rank " + rank + " of 2",
                        "without a backward",
                        "\"w\"",
                        "zeroGradients(), backward, step()");
    }

    @Test
    void aRankWithoutDataTakesPartByALossOfNothing() {
        Hvd.spawn(2, hvd -> {
            Module net = new Module();
            Tensor w = Models.parameter(net, "w", 1);
            DistributedOptimizer optimizer = distributed(net);
            w.mul(Models.tensor(hvd.rank() == 0 ? 6 : 0)).sum().backward();
            optimizer.step();
            assertThat(floats(w)).containsExactly(1 - 3);
            return null;
        });
    }

    @Test
    void namesOfAnotherNumberOfParametersAreRefused() {
        Models.Net net = new Models.Net(7);
        misuse(
                () -> new TorchOptimizer(new SGD(net.parameters(), new SGDOptions(0.1)), net.dense1.named_parameters()),
                "4 trainable parameters",
                "missing for 2 of them",
                "number 2 of group 0 with shape");
    }

    @Test
    void namesOfAnotherModelAreRefused() {
        Models.Net net = new Models.Net(7);
        Models.Net other = new Models.Net(7);
        misuse(
                () -> new TorchOptimizer(new SGD(net.parameters(), new SGDOptions(0.1)), other.named_parameters()),
                "missing for 4 of them",
                "number 0 of group 0 with shape");
    }

    @Test
    void anOptimizerThatNeedsAClosureIsRefused() {
        Models.Net net = new Models.Net(7);
        assertThatThrownBy(() -> new TorchOptimizer(new LBFGS(net.parameters()), net.named_parameters()))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.UNSUPPORTED))
                .hasMessageContaining("LBFGS");
    }

    private static void misuse(org.assertj.core.api.ThrowableAssert.ThrowingCallable call, String... facts) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                .message()
                .contains(facts);
    }

    private static float[] trainWords(Words words, int rank, int passes, int planned) {
        var optimizer = DistributedOptimizer.wrap(new TorchOptimizer(
                        new SGD(words.parameters(), new SGDOptions(0.5)), words.named_parameters(), true))
                .backwardPassesPerStep(planned)
                .build();
        for (int step = 0; step < 3; step++) {
            optimizer.zeroGradients();
            for (int pass = 0; pass < passes; pass++) {
                words.loss(rank, 2 + pass).backward();
            }
            optimizer.step();
        }
        return weights(words);
    }

    private static DistributedOptimizer distributed(Module net) {
        return DistributedOptimizer.wrap(torchOptimizer(net)).build();
    }

    private static TorchOptimizer torchOptimizer(Module net) {
        return new TorchOptimizer(new SGD(net.parameters(), new SGDOptions(1)), net.named_parameters());
    }

    /** One square weight in two layers. */
    private static final class Tied extends Module {
        private final Tensor weight;
        private final Tensor bias;

        Tied() {
            weight = new Tensor(register_parameter("weight", torch.zeros(Models.INPUTS, Models.INPUTS), true));
            bias = new Tensor(register_parameter("bias", torch.zeros(Models.INPUTS), true));
            Models.fill(this, 3);
        }

        Tensor loss(int from, int to) {
            Tensor x = Models.inputs(from, to);
            Tensor hidden = torch.tanh(torch.linear(x, weight, new org.bytedeco.pytorch.TensorOptional(bias)));
            return torch.mse_loss(torch.linear(hidden, weight.t()), x);
        }
    }

    /** An embedding of six words. */
    private static final class Words extends Module {
        private final EmbeddingImpl embedding;

        Words(boolean sparse) {
            EmbeddingOptions options = new EmbeddingOptions(6, 3);
            options.sparse().put(sparse);
            embedding = register_module("embedding", new EmbeddingImpl(options));
            Models.fill(this, 4);
        }

        Tensor loss(long... words) {
            Tensor rows = embedding.forward(Tensor.create(words, words.length));
            return rows.mul(rows).sum();
        }
    }
}
