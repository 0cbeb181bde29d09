package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.HvdException;
import io.hvd.optimizer.gradients.GradientScan;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Gradients of any size travel as float16. */
@Timeout(60)
class RangeControlTest {
    /** 1 + 2^-12 becomes 1 in float16, which shows that a tensor was compressed. */
    private static final float LONGER_THAN_A_HALF = 1 + 0x1p-12f;

    /** Two parameters in groups of their own, and their gradients. */
    private static final class Net {
        final float[] large = new float[3];
        final float[] small = new float[3];
        final float[] largeGradient = new float[3];
        final float[] smallGradient = new float[3];

        DistributedOptimizerBuilder optimizer(HvdContext hvd) {
            ArrayParameters parameters =
                    new ArrayParameters().add("large", large, largeGradient).add("small", small, smallGradient);
            return DistributedOptimizer.wrap(new Sgd(parameters, 1))
                    .context(hvd)
                    .compression(Compression.FP16)
                    .bucketBytes(8);
        }

        /** Gradients that are larger on higher ranks, from backward, the last one first. */
        void backward(DistributedOptimizer optimizer, float ofLarge, float ofSmall, int rank) {
            fill(ofLarge, ofSmall, rank);
            ready(optimizer);
        }

        void fill(float ofLarge, float ofSmall, int rank) {
            for (int i = 0; i < 3; i++) {
                largeGradient[i] = ofLarge * (1 + rank) / (1 + i);
                smallGradient[i] = -ofSmall * (1 + rank) / (1 + i);
            }
        }

        void ready(DistributedOptimizer optimizer) {
            optimizer.gradientReady("small");
            optimizer.gradientReady("large");
        }
    }

    /** Plain float16 makes an infinity of the one and loses a sixth of the other. */
    @Test
    void gradientsBeyondFloat16sRangeKeepTheirElevenBits() {
        List<float[]> trained = Hvd.spawn(3, hvd -> {
            Net net = new Net();
            DistributedOptimizer optimizer =
                    net.optimizer(hvd).rangeControl(RangeControl.every(4)).build();
            for (int step = 0; step < 10; step++) {
                net.backward(optimizer, 1e5f, 1e-7f, hvd.rank());
                optimizer.step();
                for (int i = 0; i < 3; i++) {
                    assertThat(net.largeGradient[i]).isCloseTo(2e5f / (1 + i), within(2e5f * 0x1p-10f));
                    assertThat(net.smallGradient[i]).isCloseTo(-2e-7f / (1 + i), within(2e-7f * 0x1p-10f));
                }
            }
            RangeStats stats = optimizer.rangeStats();
            assertThat(stats.steps()).isEqualTo(10);
            assertThat(stats.observedElements()).as("steps 4 and 8").isEqualTo(12);
            assertThat(stats.overflows() + stats.underflows()).isZero();
            assertThat(stats.maximum()).isEqualTo(3e5f);
            assertThat(stats.exponents()).containsEntry("large", -8).containsEntry("small", 32);
            return new float[] {net.large[0], net.large[2], net.small[0], net.small[2]};
        });

        assertThat(trained)
                .as("replicas")
                .allSatisfy(weights -> assertThat(weights).isEqualTo(trained.get(0)));
    }

    @Test
    void withoutItTheSameGradientsAreLost() {
        Hvd.spawn(3, hvd -> {
            Net net = new Net();
            DistributedOptimizer optimizer = net.optimizer(hvd).build();
            net.backward(optimizer, 1e5f, 1e-7f, hvd.rank());
            optimizer.synchronize();
            assertThat(net.largeGradient[0]).isInfinite();
            assertThat(net.smallGradient[2]).isNotCloseTo(-2e-7f / 3, within(5e-9f));
            assertThat(optimizer.rangeStats()).isEqualTo(RangeStats.NONE);
            return null;
        });
    }

    /** Only rank 1's gradient is too large for the factor that all have chosen. */
    @Test
    void aTensorThatOverflowsOnOneRankFallsBackOnAll() {
        List<List<Float>> seen = Hvd.spawn(2, hvd -> {
            Net net = new Net();
            DistributedOptimizer optimizer = net.optimizer(hvd)
                    .rangeControl(RangeControl.every(100).withFallbackAfter(2))
                    .build();
            List<Float> averages = new ArrayList<>();
            for (int step = 0; step < 5; step++) {
                net.fill(1, 1, 0);
                net.largeGradient[0] = LONGER_THAN_A_HALF;
                net.smallGradient[0] = LONGER_THAN_A_HALF;
                if (step > 0 && hvd.rank() == 1) {
                    net.largeGradient[0] = 1e7f;
                }
                net.ready(optimizer);
                optimizer.synchronize();
                averages.add(net.largeGradient[0]);
                averages.add(net.smallGradient[0]);
            }
            RangeStats stats = optimizer.rangeStats();
            assertThat(stats.overflows()).isEqualTo(2);
            assertThat(stats.inFloat32()).containsExactly("large");
            assertThat(stats.exponents()).containsOnlyKeys("small");
            return averages;
        });

        float wide = (LONGER_THAN_A_HALF + 1e7f) / 2;
        assertThat(seen)
                .allSatisfy(averages -> assertThat(averages)
                        .as(
                                "the first step in float32, two overflows, then float32; the other tensor as float16 from the second")
                        .containsExactly(
                                LONGER_THAN_A_HALF,
                                LONGER_THAN_A_HALF,
                                Float.POSITIVE_INFINITY,
                                1f,
                                Float.POSITIVE_INFINITY,
                                1f,
                                wide,
                                1f,
                                wide,
                                1f));
    }

    /** A gradient that grows a little overflows once, becomes smaller, and is as exact as before at the next look. */
    @Test
    void anOverflowMakesTheFactorSmallerAtOnce() {
        Hvd.spawn(2, hvd -> {
            Net net = new Net();
            DistributedOptimizer optimizer =
                    net.optimizer(hvd).rangeControl(RangeControl.every(3)).build();
            float[] values = {1, 100, 100, 100, 100};
            float[] averages = new float[values.length];
            for (int step = 0; step < values.length; step++) {
                net.backward(optimizer, values[step], 1, 0);
                optimizer.synchronize();
                averages[step] = net.largeGradient[0];
            }
            assertThat(averages).containsExactly(1, Float.POSITIVE_INFINITY, 100, 100, 100);
            assertThat(optimizer.rangeStats().overflows()).isOne();
            assertThat(optimizer.rangeStats().exponents()).containsEntry("large", 5);
            return null;
        });
    }

    @Test
    void elementsThatVanishAreCounted() {
        Hvd.spawn(2, hvd -> {
            Net net = new Net();
            DistributedOptimizer optimizer =
                    net.optimizer(hvd).rangeControl(RangeControl.every(1)).build();
            for (int step = 0; step < 3; step++) {
                net.fill(1, 1, 0);
                net.largeGradient[1] = 1e-12f;
                net.largeGradient[2] = 0;
                net.ready(optimizer);
                optimizer.synchronize();
                assertThat(net.largeGradient[1] == 0).as("step %d", step).isEqualTo(step > 0);
            }
            RangeStats stats = optimizer.rangeStats();
            assertThat(stats.underflows()).as("steps 1 and 2").isEqualTo(2);
            assertThat(stats.observedElements()).isEqualTo(12);
            assertThat(stats.underflowShare()).isEqualTo(1 / 6.0);
            return null;
        });
    }

    /** Doubles keep their own bits in the first step, and none that float16 has is lost later. */
    @Test
    void doublesAndIntegersToo() {
        Hvd.spawn(2, hvd -> {
            double[] doubles = new double[2];
            int[] integers = new int[1];
            Optimizer inner = new RecordingOptimizer(List.of(
                    new Parameter("d", Tensor.of(doubles), Tensor.of(doubles)),
                    new Parameter("i", Tensor.of(integers), Tensor.of(integers))));
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(inner)
                    .context(hvd)
                    .compression(Compression.FP16)
                    .rangeControl(RangeControl.every(10))
                    .build();
            for (int step = 0; step < 3; step++) {
                doubles[0] = 3e-20;
                doubles[1] = 1e-20;
                integers[0] = 70_002;
                optimizer.synchronize();
                assertThat(doubles[0]).isCloseTo(3e-20, within(3e-20 * 0x1p-11));
                assertThat(doubles[1] == 1e-20).as("step %d", step).isEqualTo(step == 0);
                assertThat(integers[0]).isEqualTo(70_002);
            }
            return null;
        });
    }

    /** The root keeps its state, and the others load it: neither may ask the others for anything. */
    @Test
    void theStateOfOneRankMayBeBroadcastBeforeAndBetweenSteps() {
        Hvd.spawn(2, hvd -> {
            Net net = new Net();
            DistributedOptimizer optimizer =
                    net.optimizer(hvd).rangeControl(RangeControl.every(2)).build();
            for (int step = 0; step < 5; step++) {
                optimizer.broadcastOptimizerState(0);
                net.backward(optimizer, 1e5f, 1e-7f, hvd.rank());
                optimizer.step();
                assertThat(net.largeGradient[0]).isCloseTo(1.5e5f, within(1.5e5f * 0x1p-10f));
            }
            assertThat(optimizer.rangeStats().steps()).isEqualTo(5);
            return null;
        });
    }

    @Test
    void aRunThatResumesOnAllRanksLooksInItsFirstStep() {
        Hvd.spawn(2, hvd -> {
            Net net = new Net();
            DistributedOptimizer optimizer =
                    net.optimizer(hvd).rangeControl(RangeControl.every(100)).build();
            optimizer.loadState(optimizer.saveState());
            for (int step = 0; step < 3; step++) {
                net.backward(optimizer, 1e5f, 1e-7f, hvd.rank());
                optimizer.step();
                assertThat(net.largeGradient[0]).isCloseTo(1.5e5f, within(1.5e5f * 0x1p-10f));
            }
            assertThat(optimizer.rangeStats().exponents()).containsOnlyKeys("large", "small");
            return null;
        });
    }

    /** Backward has sent one gradient and multiplied the other one, which waits for its bucket. */
    @Test
    void aStepThatIsDroppedLeavesNoFactorInAGradient() {
        Hvd.spawn(2, hvd -> {
            Net net = new Net();
            DistributedOptimizer optimizer =
                    net.optimizer(hvd).rangeControl(RangeControl.every(100)).build();
            net.backward(optimizer, 1, 1, 0);
            optimizer.step();
            net.fill(3, 3, 0);
            optimizer.gradientReady("small");
            optimizer.loadState(optimizer.saveState());
            assertThat(net.smallGradient[0]).isEqualTo(-3);
            net.backward(optimizer, 5, 5, 0);
            optimizer.step();
            assertThat(net.smallGradient[0]).isEqualTo(-5);
            assertThat(optimizer.rangeStats().steps()).isEqualTo(2);
            return null;
        });
    }

    @Test
    void aGradientThatWasZeroInTheFirstStepTravelsInItsOwnTypeUntilItIsSeen() {
        Hvd.spawn(2, hvd -> {
            Net net = new Net();
            DistributedOptimizer optimizer =
                    net.optimizer(hvd).rangeControl(RangeControl.every(2)).build();
            net.backward(optimizer, 0, 1, 0);
            optimizer.step();
            assertThat(optimizer.rangeStats().exponents()).containsOnlyKeys("small");
            for (int step = 1; step < 5; step++) {
                net.backward(optimizer, 0x1p20f, 1, 0);
                optimizer.step();
                assertThat(net.largeGradient[0]).as("step %d", step).isEqualTo(0x1p20f);
            }
            assertThat(optimizer.rangeStats().exponents()).containsOnlyKeys("small", "large");
            assertThat(optimizer.rangeStats().overflows()).isZero();
            return null;
        });
    }

    /** In each of them the ranks ask each other for magnitudes, and in one whether an overflow is float16's. */
    @Test
    void theRanksMayStepTwoOptimizersInDifferentOrders() {
        Hvd.spawn(2, hvd -> {
            Net first = new Net();
            Net second = new Net();
            RangeControl control = RangeControl.every(1).withFallbackAfter(1);
            DistributedOptimizer one =
                    first.optimizer(hvd).rangeControl(control).build();
            DistributedOptimizer two =
                    second.optimizer(hvd).rangeControl(control).build();
            for (int step = 0; step < 4; step++) {
                first.backward(one, step == 2 ? 1e9f : 1e5f, 1e-7f, 0);
                second.backward(two, 1e4f, 1e-6f, 0);
                (hvd.rank() == 0 ? one : two).step();
                (hvd.rank() == 0 ? two : one).step();
                assertThat(second.smallGradient[0]).isCloseTo(-1e-6f, within(1e-6f * 0x1p-10f));
            }
            assertThat(one.rangeStats().inFloat32()).containsExactly("large");
            assertThat(two.rangeStats().overflows()).isZero();
            return null;
        });
    }

    /** Rank 1 has made other steps, seen other magnitudes and another overflow than rank 0. */
    @Test
    void afterAJoinTheRanksBeginAnewTogether() {
        List<List<Float>> seen = Hvd.spawn(2, hvd -> {
            Net net = new Net();
            DistributedOptimizer optimizer = net.optimizer(hvd)
                    .rangeControl(RangeControl.every(3).withFallbackAfter(1))
                    .build();
            for (int step = 0; step < 2 + 5 * hvd.rank(); step++) {
                net.backward(optimizer, step == 5 ? 1e9f : 1, 1e4f, 0);
                optimizer.step();
            }
            optimizer.join(JoinDivisor.ACTIVE);
            List<Float> averages = new ArrayList<>();
            for (int step = 0; step < 8; step++) {
                net.backward(optimizer, 1e5f, 1e-7f, hvd.rank());
                optimizer.step();
                averages.add(net.largeGradient[0]);
                averages.add(net.smallGradient[0]);
            }
            assertThat(optimizer.rangeStats().inFloat32()).isEmpty();
            assertThat(optimizer.rangeStats().exponents()).hasSize(2);
            return averages;
        });

        assertThat(seen.get(1)).isEqualTo(seen.get(0));
        for (int i = 0; i < 16; i += 2) {
            assertThat(seen.get(0).get(i)).isCloseTo(1.5e5f, within(1.5e5f * 0x1p-10f));
            assertThat(seen.get(0).get(i + 1)).isCloseTo(-1.5e-7f, within(1.5e-7f * 0x1p-10f));
        }
    }

    /** A GradScaler tries larger scales until a gradient is infinite, on one rank perhaps, and again and again. */
    @Test
    void whatWasInfiniteBeforeItTravelledIsNoOverflowOfTheFormat() {
        Hvd.spawn(2, hvd -> {
            Net net = new Net();
            DistributedOptimizer optimizer = net.optimizer(hvd)
                    .rangeControl(RangeControl.every(100).withFallbackAfter(1))
                    .build();
            for (int step = 0; step < 10; step++) {
                net.fill(1, 1, 0);
                if (step > 0 && hvd.rank() == 1) {
                    net.largeGradient[1] = step % 2 == 0 ? Float.NaN : Float.NEGATIVE_INFINITY;
                }
                net.ready(optimizer);
                optimizer.synchronize();
                assertThat(Float.isFinite(net.largeGradient[1])).isEqualTo(step == 0);
                assertThat(net.smallGradient[0]).isEqualTo(-1);
            }
            assertThat(optimizer.rangeStats().overflows()).isZero();
            assertThat(optimizer.rangeStats().exponents()).containsEntry("large", 11);
            net.backward(optimizer, 1e7f, 1, 0);
            optimizer.synchronize();
            assertThat(optimizer.rangeStats().inFloat32()).containsExactly("large");
            return null;
        });
    }

    /** The factor itself takes a finite gradient beyond float32. */
    @Test
    void whatTheFactorMakesInfiniteIsAnOverflow() {
        Hvd.spawn(2, hvd -> {
            Net net = new Net();
            DistributedOptimizer optimizer = net.optimizer(hvd)
                    .rangeControl(RangeControl.every(100).withFallbackAfter(1))
                    .build();
            net.backward(optimizer, 1e-30f, 1, 0);
            optimizer.synchronize();
            net.backward(optimizer, 1e20f, 1, 0);
            optimizer.synchronize();
            assertThat(optimizer.rangeStats().inFloat32()).containsExactly("large");
            return null;
        });
    }

    /** The finite elements of a gradient whose scale was too large are too large as well. */
    @Test
    void aLookAtAGradientThatIsNotFiniteIsRepeatedInTheNextStep() {
        Hvd.spawn(2, hvd -> {
            Net net = new Net();
            DistributedOptimizer optimizer =
                    net.optimizer(hvd).rangeControl(RangeControl.every(100)).build();
            for (int step = 0; step < 5; step++) {
                net.fill(1, 1, 0);
                if (step < 2 && hvd.rank() == step) {
                    net.largeGradient[0] = Float.POSITIVE_INFINITY;
                    net.largeGradient[1] = 1e38f;
                }
                net.ready(optimizer);
                optimizer.synchronize();
            }
            assertThat(net.largeGradient).containsExactly(new float[] {1, 0.5f, 1 / 3f}, within(0x1p-12f));
            RangeStats stats = optimizer.rangeStats();
            assertThat(stats.exponents()).containsEntry("large", 11).containsEntry("small", 11);
            assertThat(stats.maximum()).isEqualTo(1);
            assertThat(stats.overflows()).isZero();
            return null;
        });
    }

    @Test
    void overflowsAreForgottenAfterAThousandGoodSteps() {
        Hvd.spawn(2, hvd -> {
            Net net = new Net();
            DistributedOptimizer optimizer = net.optimizer(hvd)
                    .rangeControl(RangeControl.every(10).withFallbackAfter(2))
                    .build();
            for (int step = 0; step < 1003; step++) {
                net.backward(optimizer, step == 1 || step == 1002 ? 1e7f : 1, 1, 0);
                optimizer.synchronize();
            }
            assertThat(optimizer.rangeStats().overflows()).isEqualTo(2);
            assertThat(optimizer.rangeStats().inFloat32()).isEmpty();
            net.backward(optimizer, 1e9f, 1, 0);
            optimizer.synchronize();
            assertThat(optimizer.rangeStats().inFloat32()).containsExactly("large");
            return null;
        });
    }

    /** A factor below 1 multiplies gradients before the sum. */
    @ParameterizedTest(name = "gradientPredivideFactor({0})")
    @CsvSource({"0.0625, 7", "1, 11", "4, 13"})
    void thePowerKnowsOfThePredivideFactor(double factor, int exponent) {
        Hvd.spawn(2, hvd -> {
            Net net = new Net();
            DistributedOptimizer optimizer = net.optimizer(hvd)
                    .gradientPredivideFactor(factor)
                    .rangeControl(RangeControl.every(100))
                    .build();
            for (int step = 0; step < 3; step++) {
                net.backward(optimizer, 1.5f, 1, 0);
                optimizer.synchronize();
                assertThat(net.largeGradient[0]).as("step %d", step).isEqualTo(1.5f);
            }
            assertThat(optimizer.rangeStats().exponents()).containsEntry("large", exponent);
            return null;
        });
    }

    @Test
    void localParametersAreNotLookedAt() {
        Hvd.spawn(2, hvd -> {
            Net net = new Net();
            DistributedOptimizer optimizer = net.optimizer(hvd)
                    .localParameters(List.of("small"))
                    .scaleLocalGradients(false)
                    .rangeControl(RangeControl.every(1))
                    .build();
            for (int step = 0; step < 3; step++) {
                net.backward(optimizer, 1, 1e-30f, hvd.rank());
                optimizer.synchronize();
                assertThat(net.smallGradient[0]).isEqualTo(-1e-30f * (1 + hvd.rank()));
            }
            assertThat(optimizer.rangeStats().exponents()).containsOnlyKeys("large");
            assertThat(optimizer.rangeStats().observedElements()).isEqualTo(6);
            return null;
        });
    }

    @Test
    void aScanOfManyPiecesSeesTheLastElement() {
        float[] values = new float[5000];
        values[4999] = -8;
        values[0] = 0x1p-26f;
        GradientScan scan = new GradientScan();
        Tensor gradient = Tensor.of(values);
        assertThat(scan.multiplyAndLook(gradient, 1)).isEqualTo(new GradientScan.Magnitudes(true, 8, 1));
        assertThat(values[4999]).isEqualTo(-16);
        assertThat(scan.multiply(gradient, -1)).isTrue();
        assertThat(values[4999]).isEqualTo(-8);
        values[4999] = Float.NaN;
        assertThat(scan.multiply(gradient, 0)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"NONE", "BF16", "AUTO"})
    void itIsForFloat16Only(Compression compression) {
        assertThatThrownBy(() -> Hvd.spawn(
                        2,
                        hvd -> new Net()
                                .optimizer(hvd)
                                .compression(compression)
                                .rangeControl(RangeControl.every(10))
                                .build()))
                .hasStackTraceContaining("rangeControl(...) keeps gradients within the range of Compression.FP16")
                .hasStackTraceContaining("found compression " + compression + " with " + ReduceOp.AVERAGE);
    }

    @Test
    void aNumberOfStepsBelowOneIsRefused() {
        assertThatThrownBy(() -> RangeControl.every(0))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("RangeControl every 0 steps, fallback after 3 overflows: expected 1 or more");
    }
}
