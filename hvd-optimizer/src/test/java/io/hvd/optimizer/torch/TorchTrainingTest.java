package io.hvd.optimizer.torch;

import static io.hvd.optimizer.Closeness.assertClose;
import static io.hvd.optimizer.torch.Models.weights;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.optimizer.DistributedOptimizer;
import java.util.List;
import java.util.function.Function;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Training with real LibTorch gradients, on rank threads whose backward passes run at the same time. */
@Timeout(120)
class TorchTrainingTest {
    private static final int BATCH = 12;
    private static final int STEPS = 20;

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    static List<Arguments> sizesAndOptimizers() {
        Function<Module, Optimizer> sgd = net -> new SGD(net.parameters(), Models.sgd(0.05));
        Function<Module, Optimizer> adam = net -> new Adam(net.parameters(), Models.adam(0.01));
        return List.of(
                Arguments.of(1, Named.of("SGD", sgd)),
                Arguments.of(2, Named.of("SGD", sgd)),
                Arguments.of(3, Named.of("SGD", sgd)),
                Arguments.of(2, Named.of("Adam", adam)));
    }

    @ParameterizedTest(name = "{0} ranks, {1}")
    @MethodSource("sizesAndOptimizers")
    void ranksThatShareABatchTrainLikeOneRankWithAllOfIt(int size, Function<Module, Optimizer> make) {
        float[] expected = plainTraining(make);

        List<float[]> trained = Hvd.spawn(size, hvd -> {
            Models.Net net = new Models.Net(7);
            var optimizer = DistributedOptimizer.wrap(new TorchOptimizer(make.apply(net), net.named_parameters()))
                    .bucketBytes(64)
                    .build();
            int share = BATCH / size;
            for (int step = 0; step < STEPS; step++) {
                try (PointerScope scope = new PointerScope()) {
                    int from = step * BATCH + hvd.rank() * share;
                    optimizer.zeroGradients();
                    net.loss(from, from + share).backward();
                    optimizer.step();
                }
            }
            return weights(net);
        });

        for (float[] ofRank : trained) {
            assertThat(ofRank).as("all ranks are equal to the last bit").isEqualTo(trained.get(0));
            assertClose(ofRank, expected, 1e-5);
        }
        assertThat(expected).isNotEqualTo(weights(new Models.Net(7)));
    }

    @ParameterizedTest(name = "{0} passes on {1} ranks")
    @CsvSource({"2, 2", "3, 2", "2, 1"})
    void severalBackwardPassesEqualOneOnTheSumOfTheLosses(int passes, int size) {
        Models.Net plain = new Models.Net(7);
        SGD sgd = new SGD(plain.parameters(), Models.sgd(0.05));
        for (int step = 0; step < 5; step++) {
            sgd.zero_grad();
            Tensor sum = plain.loss(sample(step, 0, 0), sample(step, 0, 0) + 2);
            for (int i = 1; i < passes * size; i++) {
                int from = sample(step, i / passes, i % passes);
                sum = sum.add(plain.loss(from, from + 2));
            }
            sum.mul(new org.bytedeco.pytorch.Scalar(1.0 / size)).backward();
            sgd.step();
        }

        List<float[]> trained = Hvd.spawn(size, hvd -> {
            Models.Net net = new Models.Net(7);
            var optimizer = DistributedOptimizer.wrap(
                            new TorchOptimizer(new SGD(net.parameters(), Models.sgd(0.05)), net.named_parameters()))
                    .backwardPassesPerStep(passes)
                    .build();
            for (int step = 0; step < 5; step++) {
                optimizer.zeroGradients();
                for (int pass = 0; pass < passes; pass++) {
                    int from = sample(step, hvd.rank(), pass);
                    net.loss(from, from + 2).backward();
                }
                optimizer.step();
            }
            return weights(net);
        });

        for (float[] ofRank : trained) {
            assertClose(ofRank, weights(plain), 1e-5);
        }
    }

    /** Rank 0 runs one pass alone before the exchange, rank 1 runs two. */
    @ParameterizedTest(name = "buckets of {0} bytes")
    @ValueSource(longs = {64, 1 << 20})
    void passesInsideNoSyncAddUpOnTheirRankAndTravelWithTheNextOne(long bucketBytes) {
        Models.Net plain = new Models.Net(7);
        SGD sgd = new SGD(plain.parameters(), Models.sgd(0.05));
        for (int step = 0; step < 5; step++) {
            sgd.zero_grad();
            Tensor sum = plain.loss(0, 2);
            for (int from = 2; from < 10; from += 2) {
                sum = sum.add(plain.loss(from, from + 2));
            }
            sum.mul(new org.bytedeco.pytorch.Scalar(0.5)).backward();
            sgd.step();
        }

        List<float[]> trained = Hvd.spawn(2, hvd -> {
            Models.Net net = new Models.Net(7);
            var optimizer = DistributedOptimizer.wrap(
                            new TorchOptimizer(new SGD(net.parameters(), Models.sgd(0.05)), net.named_parameters()))
                    .bucketBytes(bucketBytes)
                    .build();
            for (int step = 0; step < 5; step++) {
                optimizer.zeroGradients();
                int from = hvd.rank() * 4;
                try (var local = optimizer.noSync()) {
                    for (int pass = 0; pass <= hvd.rank(); pass++) {
                        net.loss(from, from + 2).backward();
                        from += 2;
                    }
                }
                net.loss(from, from + 2).backward();
                optimizer.step();
            }
            return weights(net);
        });

        assertThat(trained.get(1)).isEqualTo(trained.get(0));
        assertClose(trained.get(0), weights(plain), 1e-5);
    }

    @Test
    void aModelOfManyParametersAnnouncesAllOfThem() {
        int parameters = 200;
        Hvd.spawn(2, hvd -> {
            Module net = new Module();
            Tensor sum = torch.zeros(1);
            for (int i = 0; i < parameters; i++) {
                sum = sum.add(Models.parameter(net, "p" + i, i).mul(Models.tensor(1 + hvd.rank())));
            }
            var optimizer = DistributedOptimizer.wrap(new TorchOptimizer(
                            new SGD(net.parameters(), new org.bytedeco.pytorch.SGDOptions(1)), net.named_parameters()))
                    .bucketBytes(1)
                    .build();
            sum.backward();
            hvd.allreduceInPlace("probe.1", io.hvd.tensor.Tensor.of(1f), AllreduceOptions.sum());
            hvd.allreduceInPlace("probe.2", io.hvd.tensor.Tensor.of(1f), AllreduceOptions.sum());
            optimizer.step();

            assertThat(optimizer.lastStep().bytes()).isEqualTo(4 * parameters);
            assertThat(optimizer.lastStep().bytesBeforeBackwardEnded())
                    .as("every hook has been called")
                    .isEqualTo(4 * parameters);
            assertThat(TorchTensors.parameters(net).get("p7").toFloatArray()).containsExactly(7 - 1.5f);
            return null;
        });
    }

    @Test
    void theOptimizerOutlivesTheDictionaryThatItWasMadeFrom() {
        Models.Net plain = new Models.Net(7);
        SGD sgd = new SGD(plain.parameters(), Models.sgd(0.05));
        plain.loss(0, 4).backward();
        sgd.step();

        Hvd.spawn(2, hvd -> {
            Models.Net net = new Models.Net(7);
            DistributedOptimizer optimizer;
            var dictionary = net.named_parameters();
            optimizer = DistributedOptimizer.wrap(
                            new TorchOptimizer(new SGD(net.parameters(), Models.sgd(0.05)), dictionary))
                    .build();
            dictionary.close();
            net.loss(2 * hvd.rank(), 2 * hvd.rank() + 2).backward();
            optimizer.step();
            assertClose(weights(net), weights(plain), 1e-5);
            return null;
        });
    }

    @ParameterizedTest
    @EnumSource(
            value = ScalarType.class,
            names = {"Double", "Half", "BFloat16"})
    void parametersOfOtherFloatingTypesTrainToo(ScalarType type) {
        double tolerance = type == ScalarType.Double ? 1e-6 : type == ScalarType.Half ? 5e-3 : 4e-2;
        Models.Net plain = converted(type);
        SGD sgd = new SGD(plain.parameters(), new org.bytedeco.pytorch.SGDOptions(0.1));
        for (int step = 0; step < 5; step++) {
            sgd.zero_grad();
            loss(plain, step * 8, step * 8 + 8, type).backward();
            sgd.step();
        }

        List<float[]> trained = Hvd.spawn(2, hvd -> {
            Models.Net net = converted(type);
            var optimizer = DistributedOptimizer.wrap(new TorchOptimizer(
                            new SGD(net.parameters(), new org.bytedeco.pytorch.SGDOptions(0.1)),
                            net.named_parameters()))
                    .build();
            for (int step = 0; step < 5; step++) {
                optimizer.zeroGradients();
                int from = step * 8 + 4 * hvd.rank();
                loss(net, from, from + 4, type).backward();
                optimizer.step();
            }
            return weights(net);
        });

        assertThat(trained.get(1)).isEqualTo(trained.get(0)).isNotEqualTo(weights(converted(type)));
        assertClose(trained.get(0), weights(plain), tolerance);
    }

    private static Models.Net converted(ScalarType type) {
        Models.Net net = new Models.Net(7);
        net.to(type, false);
        return net;
    }

    private static Tensor loss(Models.Net net, int from, int to, ScalarType type) {
        return torch.mse_loss(
                net.forward(Models.inputs(from, to).to(type)),
                Models.targets(from, to).to(type));
    }

    private static int sample(int step, int rank, int pass) {
        return 100 * step + 10 * rank + 2 * pass;
    }

    private static float[] plainTraining(Function<Module, Optimizer> make) {
        Models.Net net = new Models.Net(7);
        Optimizer optimizer = make.apply(net);
        for (int step = 0; step < STEPS; step++) {
            optimizer.zero_grad();
            net.loss(step * BATCH, (step + 1) * BATCH).backward();
            optimizer.step();
        }
        return weights(net);
    }
}
