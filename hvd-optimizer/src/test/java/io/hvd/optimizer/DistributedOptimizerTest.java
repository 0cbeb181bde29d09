package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.RankMismatchException;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Order of calls, and what happens when the order is wrong. */
@Timeout(60)
class DistributedOptimizerTest {
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void everyGradientIsTheAverageOfTheRanks(int size) {
        List<float[][]> gradients = Hvd.spawn(size, hvd -> {
            float[] w = {hvd.rank(), 10 + 2 * hvd.rank(), -1 - hvd.rank()};
            float[] b = {100 * hvd.rank()};
            wrap(weights(w, b)).build().synchronize();
            return new float[][] {w, b};
        });

        float mean = (size - 1) / 2f;
        assertThat(gradients).allSatisfy(each -> {
            assertThat(each[0]).containsExactly(mean, 10 + 2 * mean, -1 - mean);
            assertThat(each[1]).containsExactly(100 * mean);
        });
    }

    @Test
    void aSumIsNotDivided() {
        Hvd.spawn(3, hvd -> {
            float[] w = {hvd.rank() + 1};
            wrap(weights(w)).op(ReduceOp.SUM).build().synchronize();
            assertThat(w).containsExactly(6);
            return null;
        });
    }

    @Test
    void stepWaitsForTheAverageAndThenStepsTheWrappedOptimizer() {
        Hvd.spawn(2, hvd -> {
            float[] value = {10};
            float[] gradient = {2 + 4 * hvd.rank()};
            var parameters = new ArrayParameters().add("w", value, gradient);
            DistributedOptimizer optimizer =
                    DistributedOptimizer.wrap(new Sgd(parameters, 0.5)).build();

            optimizer.gradientReady("w");
            optimizer.step();

            assertThat(value).containsExactly(10 - 0.5f * 4);
            return null;
        });
    }

    @Test
    void aGradientThatNeverBecameReadyOnOneRankCountsAsItLies() {
        Hvd.spawn(2, hvd -> {
            float[] w = new float[1];
            float[] b = new float[1];
            DistributedOptimizer optimizer = wrap(weights(w, b)).bucketBytes(4).build();
            w[0] = 6;
            optimizer.gradientReady("p0");
            if (hvd.rank() == 1) {
                b[0] = 8;
                optimizer.gradientReady("p1");
            }

            optimizer.synchronize();

            assertThat(w).containsExactly(6);
            assertThat(b).as("zeros from rank 0").containsExactly(4);
            return null;
        });
    }

    @Test
    void averagedGradientsCanBeClippedBeforeTheStep() {
        Hvd.spawn(2, hvd -> {
            float[] value = {1};
            float[] gradient = {100 + 200 * hvd.rank()};
            var parameters = new ArrayParameters().add("w", value, gradient);
            DistributedOptimizer optimizer =
                    DistributedOptimizer.wrap(new Sgd(parameters, 1)).build();

            optimizer.synchronize();
            assertThat(gradient).containsExactly(200);
            gradient[0] = 3 + hvd.rank();
            try (var skip = optimizer.skipSynchronize()) {
                optimizer.step();
            }

            assertThat(value)
                    .as("the step takes what lies there and averages nothing")
                    .containsExactly(1 - (3 + hvd.rank()));
            return null;
        });
    }

    @Test
    void skippingEndsWithItsBlock() {
        Hvd.spawn(2, hvd -> {
            float[] gradient = {hvd.rank()};
            DistributedOptimizer optimizer = wrap(weights(gradient)).build();
            optimizer.synchronize();
            try (var skip = optimizer.skipSynchronize()) {
                optimizer.step();
            }

            gradient[0] = 10 * hvd.rank();
            optimizer.step();

            assertThat(gradient).containsExactly(5);
            return null;
        });
    }

    @Test
    void skippingWithoutSynchronizeIsRefused() {
        Hvd.spawn(2, hvd -> {
            DistributedOptimizer optimizer = wrap(weights(new float[1])).build();

            assertMisuse(optimizer::skipSynchronize, "skipSynchronize()", "synchronize() first");
            optimizer.synchronize();
            try (var skip = optimizer.skipSynchronize()) {
                optimizer.step();
            }
            assertMisuse(optimizer::skipSynchronize, "skipSynchronize()");
            return null;
        });
    }

    @Test
    void stepAfterSynchronizeWarnsAndReducesTwice() {
        String log = logOf(() -> Hvd.spawn(2, hvd -> {
            float[] gradient = {1 + hvd.rank()};
            DistributedOptimizer optimizer =
                    wrap(weights(gradient)).op(ReduceOp.SUM).build();
            optimizer.synchronize();
            optimizer.step();
            assertThat(gradient).as("(1 + 2) on both ranks").containsExactly(6);
            return null;
        }));

        assertThat(log).contains("WARN").contains("second time").contains("skipSynchronize()");
    }

    @Test
    void theOrderThatTheDocumentationGivesDoesNotWarn() {
        String log = logOf(() -> Hvd.spawn(2, hvd -> {
            DistributedOptimizer optimizer = wrap(weights(new float[1])).build();
            optimizer.broadcastParameters(0);
            for (int i = 0; i < 2; i++) {
                optimizer.zeroGradients();
                optimizer.gradientReady("p0");
                optimizer.synchronize();
                try (var skip = optimizer.skipSynchronize()) {
                    optimizer.step();
                }
                optimizer.zeroGradients();
                optimizer.step();
            }
            return null;
        }));

        assertThat(log).doesNotContain("WARN");
    }

    @Test
    void zeroingAveragedGradientsForgetsThatTheyWereSynchronized() {
        String log = logOf(() -> Hvd.spawn(2, hvd -> {
            float[] gradient = {1};
            DistributedOptimizer optimizer = wrap(weights(gradient)).build();
            optimizer.broadcastParameters(0);
            optimizer.synchronize();
            optimizer.zeroGradients();

            assertMisuse(optimizer::skipSynchronize, "synchronize() first");
            gradient[0] = hvd.rank();
            optimizer.step();
            assertThat(gradient).containsExactly(0.5f);
            return null;
        }));

        assertThat(log).doesNotContain("WARN");
    }

    @Test
    void aFirstStepWithoutABroadcastIsWarnedOfOnceWhereNothingIsCompared() {
        String log = logOf(() -> Hvd.spawn(2, hvd -> {
            DistributedOptimizer optimizer =
                    wrap(weights(new float[1])).compareParametersEvery(0).build();
            optimizer.step();
            optimizer.step();
            return null;
        }));

        assertThat(log).containsOnlyOnce("without broadcastParameters()");
    }

    /** Arrays cannot say whether backward was called. */
    @Test
    void aFirstStepByZerosAloneIsWarnedOfOnce() {
        assertThat(logOfTwoSteps(0)).containsOnlyOnce("are all zero in the first step: the order is zeroGradients(),");
        assertThat(logOfTwoSteps(1)).doesNotContain("all zero");
    }

    /** @param gradient of the second rank; the first one's is zero */
    private static String logOfTwoSteps(float gradient) {
        return logOf(() -> Hvd.spawn(2, hvd -> {
            float[] mine = {hvd.rank() * gradient};
            ArrayParameters parameters = new ArrayParameters().add("w", new float[1], mine);
            DistributedOptimizer optimizer =
                    DistributedOptimizer.wrap(new Sgd(parameters, 1)).build();
            optimizer.step();
            optimizer.step();
            return null;
        }));
    }

    @Test
    void replicasThatDriftApartAreFoundByTheStepThatComparesThem() {
        Hvd.spawn(2, hvd -> {
            List<Parameter> parameters = weights(new float[] {1});
            DistributedOptimizer optimizer =
                    wrap(parameters).compareParametersEvery(3).build();
            optimizer.broadcastParameters(0);
            optimizer.step();
            if (hvd.rank() == 1) {
                Parameter first = optimizer.parameters().get(0);
                first.value().copyFrom(Tensor.of(77f));
            }
            optimizer.step();
            assertThatThrownBy(optimizer::step)
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("step 3", "\"p0\"", "[0]", "[1]");
            return null;
        });
    }

    @Test
    void zeroingGradientsInFlightIsRefusedAndTellsTheOrder() {
        Hvd.spawn(2, hvd -> {
            float[] gradient = {hvd.rank()};
            DistributedOptimizer optimizer = wrap(weights(gradient)).build();
            optimizer.gradientReady("p0");

            assertMisuse(optimizer::zeroGradients, "zeroGradients()", "[p0]", "backward, step()");
            optimizer.synchronize();
            assertThat(gradient).as("nothing was zeroed").containsExactly(0.5f);
            optimizer.zeroGradients();
            assertThat(gradient).containsExactly(0);
            return null;
        });
    }

    @Test
    void aGradientThatDoesNotExistIsRefusedByItsName() {
        Hvd.spawn(1, hvd -> {
            DistributedOptimizer optimizer = wrap(weights(new float[1])).build();
            assertThatThrownBy(() -> optimizer.gradientReady("p7")).hasMessageContaining("\"p7\"");
            return null;
        });
    }

    @Test
    void oneRankAloneIsTheWrappedOptimizer() {
        Hvd.spawn(1, hvd -> {
            RecordingOptimizer inner = new RecordingOptimizer(weights(new float[] {3}));
            DistributedOptimizer optimizer = wrap(inner).build();

            optimizer.zeroGradients();
            optimizer.gradientReady("p0");
            optimizer.step();
            optimizer.learningRate(0.25);

            assertThat(inner.calls).containsExactly("zeroGradients", "step");
            assertThat(inner.learningRate()).isEqualTo(0.25);
            assertThat(optimizer.learningRate()).isEqualTo(0.25);
            assertThat(optimizer.lastStep()).isEqualTo(new StepStats(0, 0, 0, 0));
            return null;
        });
    }

    @Test
    void oneRankAloneClipsInTheSameOrderAsMany() {
        Hvd.spawn(1, hvd -> {
            float[] value = {1};
            float[] gradient = {100};
            var parameters = new ArrayParameters().add("w", value, gradient);
            DistributedOptimizer optimizer =
                    DistributedOptimizer.wrap(new Sgd(parameters, 1)).build();
            optimizer.synchronize();
            gradient[0] = 4;
            try (var skip = optimizer.skipSynchronize()) {
                optimizer.step();
            }
            assertThat(value).containsExactly(-3);
            return null;
        });
    }

    @Test
    void loadingAStateDropsGradientsOnTheirWayAndCounters() {
        Hvd.spawn(2, hvd -> {
            float[] w = {hvd.rank()};
            float[] b = {hvd.rank()};
            RecordingOptimizer inner = new RecordingOptimizer(weights(w, b));
            DistributedOptimizer optimizer = wrap(inner).bucketBytes(8).build();
            optimizer.gradientReady("p0");
            optimizer.gradientReady("p1");

            optimizer.loadState("state".getBytes(java.nio.charset.StandardCharsets.UTF_8));

            assertThat(inner.calls).containsExactly("loadState state");
            optimizer.zeroGradients();
            w[0] = 10 * hvd.rank();
            b[0] = 20 * hvd.rank();
            optimizer.gradientReady("p0");
            optimizer.gradientReady("p1");
            optimizer.step();
            assertThat(w).containsExactly(5);
            assertThat(b).containsExactly(10);
            return null;
        });
    }

    @Test
    void loadingAStateForgetsThePassesCounted() {
        Hvd.spawn(2, hvd -> {
            float[] w = {0};
            float[] b = {0};
            DistributedOptimizer optimizer = wrap(weights(w, b)).build();
            optimizer.gradientReady("p0");
            optimizer.loadState(new byte[0]);

            w[0] = hvd.rank();
            optimizer.gradientReady("p0");
            optimizer.step();

            assertThat(w).containsExactly(0.5f);
            return null;
        });
    }

    @Test
    void aGradientOfAnotherShapeFailsTheStepOnAllRanksAndTheOptimizerStaysUsable() {
        Hvd.spawn(3, hvd -> {
            float[] w = {hvd.rank()};
            float[] b = {hvd.rank(), hvd.rank()};
            DistributedOptimizer fits = wrap(weights(w, b)).scope("gradient").build();
            DistributedOptimizer odd =
                    wrap(weights(new float[1], new float[3])).scope("gradient").build();
            DistributedOptimizer first = hvd.rank() == 1 ? odd : fits;

            assertThatThrownBy(first::step)
                    .isInstanceOf(RankMismatchException.class)
                    .hasMessageContaining("gradient.p1")
                    .hasMessageContaining("[2] on ranks")
                    .hasMessageContaining("[3] on ranks")
                    .hasMessageContaining("1");

            fits.zeroGradients();
            w[0] = 3 * hvd.rank();
            b[1] = 30 * hvd.rank();
            b[0] = 300 * hvd.rank();
            fits.gradientReady("p1");
            fits.gradientReady("p0");
            fits.step();
            assertThat(w).containsExactly(3);
            assertThat(b).containsExactly(300, 30);
            return null;
        });
    }

    @Test
    void aRankThatChoseAnotherSettingFailsTheStepOnAllRanks() {
        Hvd.spawn(2, hvd -> {
            DistributedOptimizer optimizer = wrap(weights(new float[1]))
                    .op(hvd.rank() == 0 ? ReduceOp.AVERAGE : ReduceOp.SUM)
                    .build();
            assertThatThrownBy(optimizer::step)
                    .isInstanceOf(RankMismatchException.class)
                    .hasMessageContaining("gradient.p0")
                    .hasMessageContaining("AVERAGE")
                    .hasMessageContaining("SUM");
            return null;
        });
    }

    @Test
    void insideNoSyncNothingTravelsAndStepsAreRefused() {
        Hvd.spawn(2, hvd -> {
            float[] gradient = {1 + hvd.rank()};
            DistributedOptimizer optimizer = wrap(weights(gradient)).build();
            try (var local = optimizer.noSync()) {
                optimizer.gradientReady("p0");
                optimizer.gradientReady("p0");
                refused(optimizer::step, "inside noSync()", "on rank " + hvd.rank() + " of 2");
                refused(optimizer::synchronize, "inside noSync()", "p0");
                refused(optimizer::noSync, "inside another noSync()");
                assertThat(gradient).containsExactly(1 + hvd.rank());
            }
            optimizer.gradientReady("p0");
            refused(optimizer::noSync, "while gradients of [p0] are being averaged", "then comes step()");
            optimizer.step();

            assertThat(gradient).containsExactly(1.5f);
            return null;
        });
    }

    private static void refused(org.assertj.core.api.ThrowableAssert.ThrowingCallable call, String... words) {
        assertThatThrownBy(call).isInstanceOf(HvdException.class).hasMessageContaining("HVD-401");
        assertThatThrownBy(call).hasMessageContainingAll(words);
    }

    @Test
    void twoOptimizersWithScopesMayWorkInAnotherOrderOnEveryRank() {
        Hvd.spawn(2, hvd -> {
            float[] ofGenerator = {hvd.rank()};
            float[] ofDiscriminator = {100 + hvd.rank()};
            DistributedOptimizer generator =
                    wrap(weights(ofGenerator)).scope("generator").build();
            DistributedOptimizer discriminator =
                    wrap(weights(ofDiscriminator)).scope("discriminator").build();
            List<DistributedOptimizer> order =
                    hvd.rank() == 0 ? List.of(generator, discriminator) : List.of(discriminator, generator);

            order.forEach(optimizer -> optimizer.gradientReady("p0"));
            order.forEach(DistributedOptimizer::step);

            assertThat(ofGenerator).containsExactly(0.5f);
            assertThat(ofDiscriminator).containsExactly(100.5f);
            return null;
        });
    }

    private static DistributedOptimizerBuilder wrap(List<Parameter> parameters) {
        return wrap(new RecordingOptimizer(parameters) {
            @Override
            public void zeroGradients() {
                parameters.forEach(parameter -> java.util.Arrays.fill(
                        (float[])
                                ((io.hvd.tensor.HeapMemory) parameter.gradient().memory()).array(),
                        0));
            }
        });
    }

    private static DistributedOptimizerBuilder wrap(Optimizer inner) {
        return DistributedOptimizer.wrap(inner);
    }

    /** Parameters p0, p1 ... with these gradients. */
    private static List<Parameter> weights(float[]... gradients) {
        ArrayParameters parameters = new ArrayParameters();
        for (int i = 0; i < gradients.length; i++) {
            parameters.add("p" + i, new float[gradients[i].length], gradients[i]);
        }
        return parameters.list();
    }

    private static void assertMisuse(org.assertj.core.api.ThrowableAssert.ThrowingCallable call, String... facts) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                .message()
                .contains(facts);
    }

    static String logOf(Runnable action) {
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

    /** The scope of a try statement may end after the optimizer; gradients of it then stay on the rank, as those of the rest. */
    @Test
    void aScopeWithoutExchangeMayEndAfterTheOptimizerIsClosed() {
        Hvd.spawn(2, hvd -> {
            ArrayParameters parameters = new ArrayParameters().add("p0", new float[2], new float[2]);
            DistributedOptimizer optimizer =
                    DistributedOptimizer.wrap(new Sgd(parameters, 1)).build();
            optimizer.gradientReady("p0");
            optimizer.step();
            try (var local = optimizer.noSync()) {
                optimizer.gradientReady("p0");
                optimizer.close();
            }
            optimizer.gradientReady("p0");
            return null;
        });
    }
}
