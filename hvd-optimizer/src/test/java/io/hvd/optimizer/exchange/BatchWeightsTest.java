package io.hvd.optimizer.exchange;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.InitOptions;
import io.hvd.ProcessSet;
import io.hvd.error.HvdException;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.Closeness;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.DistributedOptimizerBuilder;
import io.hvd.optimizer.Sgd;
import io.hvd.optimizer.TinyNet;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Gradients that count by the samples of their batches. */
@Timeout(60)
class BatchWeightsTest {
    /** Samples of each rank; a step of n ranks is over the first n batches. */
    private static final int[] BATCHES = {5, 1, 0, 9};

    private static final int STEPS = 6;

    private static int from(int rank) {
        int from = 0;
        for (int i = 0; i < rank; i++) {
            from += BATCHES[i];
        }
        return from;
    }

    /** One rank's training on the whole batches. */
    private static float[] whole(int size) {
        TinyNet net = new TinyNet(7);
        Sgd sgd = new Sgd(net.parameters, 0.05, 0.9, 0.01);
        for (int step = 0; step < STEPS; step++) {
            sgd.zeroGradients();
            net.backward(100 * step, 100 * step + from(size));
            sgd.step();
        }
        return net.weights();
    }

    private static DistributedOptimizerBuilder weighted(TinyNet net) {
        return DistributedOptimizer.wrap(new Sgd(net.parameters, 0.05, 0.9, 0.01))
                .bucketBytes(8)
                .weightByBatchSize();
    }

    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {1, 2, 3, 4})
    void batchesOfDifferentSizesTrainAsOneRankWithAllSamples(int size) {
        List<float[]> weights = Hvd.spawn(size, hvd -> {
            TinyNet net = new TinyNet(7);
            var optimizer = weighted(net).build();
            for (int step = 0; step < STEPS; step++) {
                int from = 100 * step + from(hvd.rank());
                optimizer.zeroGradients();
                optimizer.batchSize(BATCHES[hvd.rank()]);
                net.backward(from, from + BATCHES[hvd.rank()]);
                if (step % 2 == 0 && hvd.rank() != 2) {
                    TinyNet.names().forEach(optimizer::gradientReady);
                }
                optimizer.step();
            }
            return net.weights();
        });

        for (float[] ofRank : weights) {
            assertThat(ofRank).isEqualTo(weights.get(0));
            Closeness.assertClose(ofRank, whole(size), 1e-5);
        }
    }

    /** In passes of one sample and of the rest, the first of them inside noSync() in every other step. */
    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {1, 2, 4})
    void passesBeforeAStepCountByTheirSamplesToo(int size) {
        List<float[]> weights = Hvd.spawn(size, hvd -> {
            TinyNet net = new TinyNet(7);
            var optimizer = weighted(net).backwardPassesPerStep(2).build();
            for (int step = 0; step < STEPS; step++) {
                int from = 100 * step + from(hvd.rank());
                int samples = BATCHES[hvd.rank()];
                int first = Math.min(samples, step % 3);
                optimizer.backwardPassesPerStep(step % 2 == 0 ? 1 : 2);
                optimizer.zeroGradients();
                if (step % 2 == 0) {
                    try (var local = optimizer.noSync()) {
                        pass(optimizer, net, from, first);
                    }
                } else {
                    pass(optimizer, net, from, first);
                }
                pass(optimizer, net, from + first, samples - first);
                optimizer.step();
            }
            return net.weights();
        });

        for (float[] ofRank : weights) {
            assertThat(ofRank).isEqualTo(weights.get(0));
            Closeness.assertClose(ofRank, whole(size), 1e-5);
        }
    }

    private static void pass(DistributedOptimizer optimizer, TinyNet net, int from, int samples) {
        optimizer.batchSize(samples);
        if (samples > 0) {
            net.backward(from, from + samples);
            TinyNet.names().forEach(optimizer::gradientReady);
        }
    }

    @Test
    void whatLiesInTheGradientOfARankWithoutSamplesDoesNotCount() {
        Hvd.spawn(3, hvd -> {
            float[] gradient = {hvd.rank() == 1 ? Float.NaN : 4 + hvd.rank()};
            DistributedOptimizer optimizer = one(gradient).build();

            optimizer.batchSize(hvd.rank() == 1 ? 0 : 1 + hvd.rank());
            optimizer.gradientReady("w");
            optimizer.synchronize();

            assertThat(gradient[0]).isCloseTo((4 + 3 * 6) / 4f, Offset.offset(1e-6f));
            return null;
        });
    }

    @Test
    void noSamplesAtAllAreAnErrorOnAllRanksAndTheNextStepIsAsAnyOther() {
        Hvd.spawn(2, hvd -> {
            float[] gradient = {2 * hvd.rank()};
            DistributedOptimizer optimizer = one(gradient).build();
            optimizer.batchSize(0);
            refused(optimizer::step, "batchSize(0) on all ranks [0, 1]", "average over 0 samples");

            optimizer.zeroGradients();
            gradient[0] = 8 * hvd.rank();
            optimizer.batchSize(1 + 2 * hvd.rank());
            optimizer.step();

            assertThat(gradient).containsExactly(6);
            return null;
        });
    }

    /** 4096 samples times a gradient of 100 would be more than float16 has. */
    @Test
    void whatTravelsInSixteenBitsIsNoLargerThanAnAverage() {
        Hvd.spawn(2, hvd -> {
            float[] gradient = {100 + 100 * hvd.rank()};
            DistributedOptimizer optimizer =
                    one(gradient).compression(Compression.FP16).build();
            optimizer.batchSize(4096);
            optimizer.step();

            assertThat(gradient).containsExactly(150);
            return null;
        });
    }

    @Test
    void whoeverHasJoinedHasNoSamplesWhateverTheDivisorIs() {
        for (JoinDivisor divisor : List.of(JoinDivisor.ACTIVE, JoinDivisor.INITIAL)) {
            Hvd.spawn(3, hvd -> {
                float[] gradient = {4 * hvd.rank()};
                DistributedOptimizer optimizer = one(gradient).build();
                if (hvd.rank() != 1) {
                    optimizer.batchSize(hvd.rank() == 0 ? 1 : 3);
                    optimizer.step();
                    assertThat(gradient).containsExactly(6);
                }
                hvd.join(divisor);
                return null;
            });
        }
    }

    /** Rank r makes r + 2 steps; the last of all has seen most, and its model is everybody's. */
    @Test
    void joinGivesAllRanksTheModelAndTheStateOfTheRankThatWasLast() {
        List<float[]> weights = Hvd.spawn(3, hvd -> {
            TinyNet net = new TinyNet(7);
            Sgd sgd = new Sgd(net.parameters, 0.05, 0.9, 0);
            float[] seen = {hvd.rank()};
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(sgd)
                    .buffers(Map.of("seen", Tensor.of(seen)))
                    .build();
            for (int epoch = 0; epoch < 2; epoch++) {
                for (int step = 0; step < 2 + hvd.rank(); step++) {
                    optimizer.zeroGradients();
                    net.backward(10 * step, 10 * step + 4);
                    optimizer.step();
                }
                assertThat(optimizer.join(JoinDivisor.ACTIVE)).isEqualTo(2);
                assertThat(seen).containsExactly(2);
            }
            return net.weights();
        });

        assertThat(weights.get(1)).isEqualTo(weights.get(0));
        assertThat(weights.get(2)).isEqualTo(weights.get(0));
    }

    @Test
    void callsOutOfOrderAreNamed() {
        Hvd.spawn(1, hvd -> {
            DistributedOptimizer optimizer = one(new float[1]).build();
            refused(optimizer::step, "without batchSize(n)", "zeroGradients(), batchSize(n), backward, step()");
            optimizer.batchSize(3);
            refused(optimizer::zeroGradients, "zeroGradients() on rank 0 of 1 after batchSize(n)");
            refused(() -> optimizer.batchSize(4), "batchSize(4)", "call 2 before step(), expected 1");
            refused(() -> optimizer.backwardPassesPerStep(2), "between backward and step()");
            optimizer.step();
            assertThatThrownBy(() -> optimizer.batchSize(-1)).hasMessageContainingAll("HVD-202", "batchSize(-1)");

            DistributedOptimizer plain = plain(new float[1]).build();
            refused(() -> plain.batchSize(3), "batchSize(3)", "without weightByBatchSize()");
            refused(() -> one(new float[1]).op(ReduceOp.SUM).build(), "weightByBatchSize()", "found op SUM");
            refused(
                    () -> one(new float[1]).gradientPredivideFactor(2).build(),
                    "gradientPredivideFactor 2.0",
                    "expected AVERAGE and 1");
            return null;
        });
    }

    @Test
    void aPassOverNothingAfterOneOverSamplesIsRefusedByTheNameOfItsParameter() {
        Hvd.spawn(1, hvd -> {
            DistributedOptimizer optimizer =
                    one(new float[1]).backwardPassesPerStep(2).build();
            optimizer.batchSize(3);
            optimizer.gradientReady("w");
            optimizer.batchSize(0);
            refused(() -> optimizer.gradientReady("w"), "\"w\"", "after batchSize(0)", "3 samples");
            return null;
        });
    }

    /** Both wait for the other ranks in their first gradient, of which rank 1 has that of the second optimizer first. */
    @Test
    void twoOptimizersMayRunBackwardInDifferentOrders() {
        Hvd.spawn(2, hvd -> {
            List<String> names = hvd.rank() == 0 ? List.of("a", "b") : List.of("b", "a");
            Map<String, float[]> gradients =
                    Map.of("a", new float[] {4 * hvd.rank()}, "b", new float[] {8 * hvd.rank()});
            Map<String, DistributedOptimizer> optimizers = new TreeMap<>();
            for (String name : List.of("a", "b")) {
                var parameters = new ArrayParameters().add(name, new float[1], gradients.get(name));
                optimizers.put(
                        name,
                        DistributedOptimizer.wrap(new Sgd(parameters, 1))
                                .weightByBatchSize()
                                .build());
            }
            optimizers.values().forEach(optimizer -> optimizer.batchSize(1 + 2 * hvd.rank()));
            names.forEach(name -> optimizers.get(name).gradientReady(name));
            names.forEach(name -> optimizers.get(name).step());

            assertThat(gradients.get("a")).containsExactly(3);
            assertThat(gradients.get("b")).containsExactly(6);
            return null;
        });
    }

    @Test
    void messagesNameTheRankInTheJob() {
        Hvd.spawn(3, InitOptions.standard().withDynamicProcessSets(), hvd -> {
            ProcessSet last = hvd.addProcessSet(List.of(1, 2));
            DistributedOptimizer optimizer = one(new float[1]).processSet(last).build();
            if (last.included()) {
                assertThatThrownBy(() -> optimizer.batchSize(-1))
                        .hasMessageContaining("batchSize(-1) on rank " + hvd.rank() + ":");
                refused(optimizer::step, "on rank " + hvd.rank() + " of [1, 2] without batchSize(n)");
            }
            return null;
        });
    }

    private static DistributedOptimizerBuilder one(float[] gradient) {
        return plain(gradient).weightByBatchSize();
    }

    private static DistributedOptimizerBuilder plain(float[] gradient) {
        return DistributedOptimizer.wrap(
                new Sgd(new ArrayParameters().add("w", new float[gradient.length], gradient), 0.5));
    }

    private static void refused(ThrowingCallable call, String... words) {
        assertThatThrownBy(call)
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("HVD-401")
                .hasMessageContainingAll(words);
    }
}
