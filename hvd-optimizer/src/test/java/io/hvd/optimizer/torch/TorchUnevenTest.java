package io.hvd.optimizer.torch;

import static io.hvd.optimizer.Closeness.assertClose;
import static io.hvd.optimizer.torch.Models.floats;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.error.HvdException;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.DistributedOptimizerBuilder;
import io.hvd.optimizer.Parameter;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Batches of different sizes, and what is asked of the model before it trains. */
@Timeout(120)
class TorchUnevenTest {
    private static final int[] BATCHES = {5, 2, 0, 9};
    private static final int STEPS = 4;

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    private static TorchOptimizer sgd(Module net, double rate) {
        return new TorchOptimizer(new SGD(net.parameters(), new SGDOptions(rate)), net.named_parameters());
    }

    private static DistributedOptimizerBuilder weighted(Module net) {
        return DistributedOptimizer.wrap(
                        new TorchOptimizer(new SGD(net.parameters(), Models.sgd(0.05)), net.named_parameters()))
                .bucketBytes(64)
                .weightByBatchSize();
    }

    private static int from(int rank) {
        int from = 0;
        for (int i = 0; i < rank; i++) {
            from += BATCHES[i];
        }
        return from;
    }

    private static float[] whole(int size) {
        Models.Net net = new Models.Net(7);
        SGD sgd = new SGD(net.parameters(), Models.sgd(0.05));
        for (int step = 0; step < STEPS; step++) {
            sgd.zero_grad();
            net.loss(100 * step, 100 * step + from(size)).backward();
            sgd.step();
        }
        return Models.weights(net);
    }

    /** A rank without samples computes NaN in every other step, and leaves backward out in the others. */
    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {1, 2, 4})
    void batchesOfDifferentSizesTrainAsOneRankWithAllSamples(int size) {
        List<float[]> weights = Hvd.spawn(size, hvd -> {
            Models.Net net = new Models.Net(7);
            var optimizer = weighted(net).build();
            for (int step = 0; step < STEPS; step++) {
                int from = 100 * step + from(hvd.rank());
                int samples = BATCHES[hvd.rank()];
                optimizer.zeroGradients();
                optimizer.batchSize(samples);
                if (samples > 0 || step % 2 == 0) {
                    net.loss(from, from + samples).backward();
                }
                optimizer.step();
            }
            return Models.weights(net);
        });

        for (float[] ofRank : weights) {
            assertThat(ofRank).isEqualTo(weights.get(0));
            assertClose(ofRank, whole(size), 1e-5);
        }
    }

    /** The first pass is over one sample less than half of them, inside noSync() in every other step. */
    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {1, 2})
    void passesBeforeAStepCountByTheirSamplesToo(int size) {
        List<float[]> weights = Hvd.spawn(size, hvd -> {
            Models.Net net = new Models.Net(7);
            var optimizer = weighted(net).build();
            for (int step = 0; step < STEPS; step++) {
                int from = 100 * step + from(hvd.rank());
                int to = from + BATCHES[hvd.rank()];
                int middle = (from + to - 1) / 2;
                optimizer.backwardPassesPerStep(step % 2 == 0 ? 1 : 2);
                optimizer.zeroGradients();
                if (step % 2 == 0) {
                    try (var local = optimizer.noSync()) {
                        pass(optimizer, net, from, middle);
                    }
                } else {
                    pass(optimizer, net, from, middle);
                }
                pass(optimizer, net, middle, to);
                optimizer.step();
            }
            return Models.weights(net);
        });

        for (float[] ofRank : weights) {
            assertThat(ofRank).isEqualTo(weights.get(0));
            assertClose(ofRank, whole(size), 1e-5);
        }
    }

    private static void pass(DistributedOptimizer optimizer, Models.Net net, int from, int to) {
        optimizer.batchSize(to - from);
        if (to > from) {
            net.loss(from, to).backward();
        }
    }

    @Test
    void compressedWeightsAreNoLargerThanAnAverage() {
        Hvd.spawn(2, hvd -> {
            Module net = new Module();
            Tensor w = Models.parameter(net, "w", 0);
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(sgd(net, 1))
                    .weightByBatchSize()
                    .compression(Compression.FP16)
                    .build();
            optimizer.batchSize(4096);
            w.mul(new Scalar(100.0 + 100 * hvd.rank())).sum().backward();
            optimizer.step();
            assertThat(floats(w)).containsExactly(-150);
            return null;
        });
    }

    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {2, 3})
    void unevenBatchesAndStepsTrainAsOneRankWithAllSamples(int size) {
        Hvd.spawn(size, hvd -> {
            UnevenTraining.requireAsOneRank(hvd);
            return null;
        });
    }

    @Test
    void aModelThatIsConvertedAfterwardsIsNamedWithWhatWasFoundAndExpected() {
        Hvd.spawn(2, hvd -> {
            Models.Net net = new Models.Net(7);
            DistributedOptimizer optimizer =
                    DistributedOptimizer.wrap(sgd(net, 1)).build();
            net.to(ScalarType.Double, false);

            assertThatThrownBy(() -> optimizer.broadcastParameters(0))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll(
                            "HVD-401",
                            "\"dense1.weight\"",
                            "found Double on cpu, expected Float on cpu",
                            "model.to(...)");
            assertThatThrownBy(() -> TorchOptimizer.backward(
                            net.dense2.weight().sum().add(net.dense1.weight().sum())))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("HVD-401", "found Double on cpu, expected Float on cpu");
            return null;
        });
    }

    @Test
    void aModelWithoutAnythingToTrainIsRefusedWithTheNameOfAFrozenParameter() {
        Hvd.spawn(1, hvd -> {
            Module net = new Module();
            Models.parameter(net, "w", 1, 2).requires_grad_(false);
            assertThatThrownBy(() -> sgd(net, 1))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("HVD-401", "all 1 are frozen", "\"w\" the first", "requires_grad");
            return null;
        });
    }

    @Test
    void parametersWithoutNamesAreNamedByTheirGroupAndPlace() {
        Hvd.spawn(2, hvd -> {
            Module net = new Module();
            Tensor v = Models.parameter(net, "v", 1, 2);
            Tensor w = Models.parameter(net, "w", 4);
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                            new TorchOptimizer(new SGD(net.parameters(), new SGDOptions(1))))
                    .build();
            assertThat(optimizer.parameters())
                    .extracting(Parameter::name)
                    .containsExactly("allreduce.noname.0.0", "allreduce.noname.0.1");
            v.sum().add(w.mul(new Scalar(2.0 * hvd.rank())).sum()).backward();
            optimizer.step();
            assertThat(floats(v)).containsExactly(0, 1);
            assertThat(floats(w)).containsExactly(3);
            return null;
        });
    }

    @Test
    void whatBackwardNeverReachesIsShownOnceWithNameAndIndexAndLocalParametersAreNot() {
        String log = logOf(() -> Hvd.spawn(2, hvd -> {
            Module net = new Module();
            Tensor used = Models.parameter(net, "used", 1);
            Models.parameter(net, "never", 1);
            Tensor sometimes = Models.parameter(net, "sometimes", 1);
            Models.parameter(net, "own", 1);
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(sgd(net, 1))
                    .localParameters(List.of("own"))
                    .build();
            for (int step = 0; step < 5; step++) {
                optimizer.zeroGradients();
                (hvd.rank() == 0 ? used.sum() : used.sum().add(sometimes.sum())).backward();
                optimizer.step();
                hvd.barrier();
            }
            return null;
        }));

        assertThat(log.lines().filter(line -> line.contains("no backward pass of the first step")))
                .singleElement()
                .asString()
                .contains("on 2 of 2 ranks \"never\" (1); on 1 of 2 ranks \"sometimes\" (2)")
                .doesNotContain("\"own\"", "\"used\"");
    }

    private static String logOf(Runnable action) {
        PrintStream before = System.err;
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        System.setErr(new PrintStream(bytes, true, StandardCharsets.UTF_8));
        try {
            action.run();
        } finally {
            System.setErr(before);
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }
}
