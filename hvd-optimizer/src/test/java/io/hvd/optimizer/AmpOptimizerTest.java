package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.Hvd;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiFunction;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The order of mixed precision, kept by the optimizer itself. */
@Timeout(60)
class AmpOptimizerTest {
    private final float[] weight = {1, 1};
    private final float[] gradient = new float[2];

    private DistributedOptimizerBuilder distributed() {
        return DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("w", weight, gradient), 1, 0.5, 0));
    }

    private AmpOptimizer.Builder amp() {
        return AmpOptimizer.wrap(distributed().build());
    }

    private void backward(AmpOptimizer amp, double first, double second) {
        amp.backward(scale -> {
            gradient[0] += (float) (scale * first);
            gradient[1] += (float) (scale * second);
        });
    }

    @Test
    void aStepUsesTheUnscaledAverageOfTheRanks() {
        List<float[]> weights = Hvd.spawn(2, hvd -> {
            AmpOptimizerTest mine = new AmpOptimizerTest();
            AmpOptimizer amp = mine.amp().build();
            amp.broadcastParameters(0);
            amp.zeroGradients();
            mine.backward(amp, 1 + hvd.rank(), 3 * hvd.rank());
            amp.gradientReady("w");
            amp.step();
            assertThat(amp.stepped()).isTrue();
            assertThat(amp.scaler().growthTracker()).isEqualTo(1);
            assertThat(amp.lastStep().bytes()).isEqualTo(8);
            return mine.weight;
        });

        assertThat(weights).allSatisfy(ofRank -> assertThat(ofRank).containsExactly(-0.5f, -0.5f));
    }

    @Test
    void anOverflowOnOneRankSkipsTheStepOnAllAndTheMomentumStaysClean() {
        Hvd.spawn(3, hvd -> {
            AmpOptimizerTest mine = new AmpOptimizerTest();
            AmpOptimizer amp = mine.amp().build();
            for (double value : new double[] {1, Double.NaN, 1}) {
                amp.zeroGradients();
                mine.backward(amp, 0, Double.isNaN(value) && hvd.rank() < 2 ? 1 : value);
                amp.step();
            }
            assertThat(amp.skippedSteps()).isEqualTo(1);
            assertThat(amp.stepped()).isTrue();
            assertThat(amp.scaler().scale()).isEqualTo(32768);
            assertThat(mine.weight).containsExactly(1, 1 - 1 - 1.5f);
            return null;
        });
    }

    /** Otherwise the comparison would stay under way while fp16 skips its first steps. */
    @Test
    void settingsAreComparedInTheFirstStepAlsoIfItIsSkipped() {
        Hvd.spawn(2, hvd -> {
            AmpOptimizerTest mine = new AmpOptimizerTest();
            AmpOptimizer amp = mine.amp().build();
            amp.learningRate(1 + hvd.rank());
            mine.backward(amp, Double.NaN, 0);
            assertThatThrownBy(amp::step)
                    .isInstanceOf(HvdException.class)
                    .hasMessageContaining(ErrorId.DIVERGED.code())
                    .hasMessageContaining("\"learning rate\" is 1.0 on ranks [0] and 2.0 on ranks [1]");
            return null;
        });
    }

    /** The norm of (3 * size, 4 * size) over size ranks, of which only the first has a gradient, is 5. */
    @Test
    void gradientsAreClippedByTheNormOfTheirUnscaledAverageAlikeOnAllRanks() {
        Hvd.spawn(3, hvd -> {
            AmpOptimizerTest mine = new AmpOptimizerTest();
            AmpOptimizer amp = mine.amp().clipGradientNorm(2.5).build();
            mine.backward(amp, hvd.rank() == 0 ? 9 : 0, hvd.rank() == 0 ? 12 : 0);
            amp.step();
            assertThat(amp.lastGradientNorm()).isEqualTo(5);
            assertThat(mine.weight[0]).isCloseTo(1 - 1.5f, within(1e-5f));
            assertThat(mine.weight[1]).isCloseTo(1 - 2, within(1e-5f));
            return null;
        });
    }

    /** The ranks' moves are orthogonal, so Adasum adds them; a factor from a mean of the norms would shorten both. */
    @Test
    void withAdasumEachRankClipsItsGradientsByTheirOwnNorm() {
        for (double scale : new double[] {0, 2}) {
            Hvd.spawn(2, hvd -> {
                AmpOptimizerTest mine = new AmpOptimizerTest();
                AmpOptimizer amp = AmpOptimizer.wrap(
                                mine.distributed().op(ReduceOp.ADASUM).build())
                        .scaler(
                                scale == 0
                                        ? GradScaler.disabled()
                                        : GradScaler.builder().initScale(scale).build())
                        .clipGradientNorm(1)
                        .build();
                mine.backward(amp, hvd.rank() == 0 ? 30 : 0, hvd.rank() == 0 ? 0 : 0.5);
                amp.step();
                assertThat(amp.lastGradientNorm()).isEqualTo(hvd.rank() == 0 ? 30 : 0.5);
                assertThat(mine.weight[0]).isCloseTo(0, within(1e-5f));
                assertThat(mine.weight[1]).isCloseTo(0.5f, within(1e-5f));
                return null;
            });
        }
    }

    @Test
    void aNormThatNothingClipsIsMeasuredForTheNextStepAlone() {
        Hvd.spawn(2, hvd -> {
            AmpOptimizerTest mine = new AmpOptimizerTest();
            AmpOptimizer amp = mine.amp().build();
            for (double expected : new double[] {Double.NaN, 5, Double.NaN}) {
                if (expected == 5) {
                    amp.measureGradientNorm();
                }
                amp.zeroGradients();
                mine.backward(amp, hvd.rank() == 0 ? 6 : 0, hvd.rank() == 0 ? 8 : 0);
                amp.step();
                assertThat(amp.lastGradientNorm()).isEqualTo(Double.valueOf(expected));
            }
            return null;
        });
    }

    @Test
    void gradientsBelowTheNormStayAsTheyAreAndADisabledScalerClipsToo() {
        Hvd.spawn(2, hvd -> {
            AmpOptimizerTest mine = new AmpOptimizerTest();
            AmpOptimizer amp =
                    mine.amp().scaler(GradScaler.disabled()).clipGradientNorm(1).build();
            mine.backward(amp, 0.5, 0);
            amp.step();
            assertThat(amp.lastGradientNorm()).isEqualTo(0.5);
            assertThat(mine.weight).containsExactly(0.5f, 1);
            amp.zeroGradients();
            mine.backward(amp, 0, 100);
            amp.step();
            assertThat(amp.lastGradientNorm()).isEqualTo(100);
            assertThat(mine.weight[1]).isCloseTo(0, within(1e-5f));
            return null;
        });
    }

    @Test
    void severalBackwardPassesShareAScaleAndAStep() {
        Hvd.spawn(2, hvd -> {
            AmpOptimizerTest mine = new AmpOptimizerTest();
            AmpOptimizer amp = AmpOptimizer.wrap(
                            mine.distributed().backwardPassesPerStep(2).build())
                    .build();
            mine.backward(amp, 1, 0);
            mine.backward(amp, 2, 0);
            amp.step();
            assertThat(mine.weight).containsExactly(-2, 1);
            return null;
        });
    }

    @Test
    void stepsWithoutABackwardOfItsOwnAreRefused() {
        Hvd.spawn(2, hvd -> {
            AmpOptimizerTest mine = new AmpOptimizerTest();
            AmpOptimizer amp = mine.amp().build();
            assertMisuse(amp::step, "AmpOptimizer.step(), for Sgd of 1 parameters", "without backward(...)");
            mine.backward(amp, 1, 1);
            amp.step();
            assertMisuse(amp::step, "without backward(...) since the last step");
            mine.backward(amp, 1, 1);
            amp.zeroGradients();
            assertMisuse(amp::step, "or zeroGradients()");
            assertThatThrownBy(() -> amp.backward(scale -> {
                        throw new IllegalStateException("in the middle of backward");
                    }))
                    .hasMessage("in the middle of backward");
            assertMisuse(amp::step, "after a backward(...) that has failed");
            assertThat(mine.weight).containsExactly(0, 0);
            return null;
        });
    }

    /** The half of the gradients that the failed pass has added is not in the loss of the good one. */
    @Test
    void aGoodBackwardAfterAFailedOneDoesNotMakeItsGradientsWhole() {
        Hvd.spawn(2, hvd -> {
            AmpOptimizerTest mine = new AmpOptimizerTest();
            AmpOptimizer amp = mine.amp().build();
            assertThatThrownBy(() -> amp.backward(scale -> {
                        mine.gradient[0] += (float) scale * 100;
                        throw new IllegalStateException("half-way");
                    }))
                    .hasMessage("half-way");
            mine.backward(amp, 1, 1);
            assertMisuse(amp::step, "after a backward(...) that has failed", "zeroGradients()");
            assertThat(mine.weight).containsExactly(1, 1);

            amp.zeroGradients();
            mine.backward(amp, 1, 1);
            amp.step();
            assertThat(mine.weight).containsExactly(0, 0);
            return null;
        });
    }

    /** A GAN whose two nets share a scaler: the critic's loss was multiplied before the generator's step has halved the scale. */
    @Test
    void aStepAfterAnotherOptimizerHasChangedTheSharedScaleIsRefusedWithBothScales() {
        Hvd.spawn(2, hvd -> {
            GradScaler shared = new GradScaler();
            AmpOptimizerTest ofGenerator = new AmpOptimizerTest();
            AmpOptimizerTest ofCritic = new AmpOptimizerTest();
            AmpOptimizer generator = ofGenerator.amp().scaler(shared).build();
            AmpOptimizer critic = ofCritic.amp().scaler(shared).build();
            ofGenerator.backward(generator, Double.NaN, 1);
            ofCritic.backward(critic, 1, 1);
            generator.step();
            generator.zeroGradients();
            ofGenerator.backward(generator, 1, 1);

            String[] facts = {"65536.0", "32768.0", "a GradScaler of its own"};
            assertMisuse(critic::step, facts);
            assertMisuse(() -> ofCritic.backward(critic, 1, 1), facts);
            assertThat(ofCritic.weight).containsExactly(1, 1);

            critic.zeroGradients();
            ofCritic.backward(critic, 1, 1);
            critic.step();
            assertThat(ofCritic.weight).containsExactly(0, 0);
            return null;
        });
    }

    @Test
    void aScaleThatIsSetBetweenBackwardAndStepIsRefused() {
        Hvd.spawn(2, hvd -> {
            AmpOptimizerTest mine = new AmpOptimizerTest();
            AmpOptimizer amp = mine.amp().build();
            mine.backward(amp, 1, 1);
            amp.scaler().update(1024);
            assertMisuse(amp::step, "65536.0", "1024.0");
            amp.zeroGradients();
            mine.backward(amp, 1, 1);
            amp.step();
            assertThat(mine.weight).containsExactly(0, 0);
            return null;
        });
    }

    /** Both would average, unscale and step the same gradients. */
    @Test
    void aSecondAmpOptimizerAroundOneOptimizerIsRefusedAndTheFirstGoesOn() {
        Hvd.spawn(2, hvd -> {
            AmpOptimizerTest mine = new AmpOptimizerTest();
            DistributedOptimizer inside = mine.distributed().build();
            AmpOptimizer amp = AmpOptimizer.wrap(inside).build();
            assertMisuse(
                    () -> AmpOptimizer.wrap(inside).clipGradientNorm(1).build(),
                    "for Sgd of 1 parameters, \"w\" the first",
                    "inside of an AmpOptimizer already");
            mine.backward(amp, 30, 40);
            amp.step();
            assertThat(mine.weight).as("not clipped").containsExactly(-29, -39);
            return null;
        });
    }

    @Test
    void theOptimizerInsideCannotBeSteppedByItself() {
        Hvd.spawn(2, hvd -> {
            AmpOptimizerTest mine = new AmpOptimizerTest();
            DistributedOptimizer inside = mine.distributed().build();
            AmpOptimizer amp = AmpOptimizer.wrap(inside).build();
            mine.backward(amp, 1, 1);
            assertMisuse(inside::step, "inside of an AmpOptimizer", "Call AmpOptimizer.step()");
            assertThat(mine.weight).containsExactly(1, 1);
            amp.step();
            assertThat(mine.weight).containsExactly(0, 0);
            return null;
        });
    }

    @Test
    void theStateContainsTheScalersAndIsBroadcastWithIt() {
        Hvd.spawn(2, hvd -> {
            AmpOptimizerTest mine = new AmpOptimizerTest();
            AmpOptimizer amp = mine.amp().build();
            for (double value : new double[] {1, Double.POSITIVE_INFINITY}) {
                amp.zeroGradients();
                mine.backward(amp, value, value);
                amp.step();
            }
            AmpOptimizerTest next = new AmpOptimizerTest();
            AmpOptimizer resumed = next.amp().build();
            if (hvd.rank() == 0) {
                resumed.loadState(amp.saveState());
            }
            resumed.broadcastOptimizerState(0);

            assertThat(resumed.scaler().stateDict())
                    .isEqualTo(amp.scaler().stateDict())
                    .containsEntry("scale", 32768.0);
            next.backward(resumed, 0, 0);
            resumed.step();
            assertThat(next.weight).as("moved by the momentum alone").containsExactly(0.5f, 0.5f);
            return null;
        });
    }

    @Test
    void aStateWithoutAScalersIsRefusedAndChangesNothing() {
        Hvd.spawn(1, hvd -> {
            AmpOptimizer amp = amp().build();
            byte[] plain = distributed().build().saveState();
            assertThatThrownBy(() -> amp.loadState(plain))
                    .hasMessageContaining(ErrorId.STATE_MISMATCH.code())
                    .hasMessageContaining(plain.length + " bytes")
                    .hasMessageContaining("without mixed precision");
            byte[] cut = Arrays.copyOf(amp.saveState(), amp.saveState().length - 3);
            amp.loadState(amp().scaler(GradScaler.builder().initScale(2).build())
                    .build()
                    .saveState());
            assertThatThrownBy(() -> amp.loadState(cut)).hasMessageContaining(ErrorId.STATE_MISMATCH.code());
            assertThat(amp.scaler().scale()).isEqualTo(2);
            return null;
        });
    }

    @Test
    void aNormThatIsNoneIsRefused() {
        Hvd.spawn(1, hvd -> {
            assertThatThrownBy(() -> amp().clipGradientNorm(0))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContaining("clipGradientNorm(0.0)");
            return null;
        });
    }

    private static void assertMisuse(ThrowingCallable call, String... facts) {
        assertThatThrownBy(call)
                .isInstanceOf(HvdException.class)
                .hasMessageContaining(ErrorId.OPTIMIZER_MISUSE.code())
                .hasMessageContainingAll(facts);
    }

    /** Rank 1 has no more data after its first step; rank 0 goes on, and its scale is halved. */
    @Test
    void joinGivesAllRanksTheScalersStateToo() {
        Hvd.spawn(2, hvd -> {
            AmpOptimizerTest mine = new AmpOptimizerTest();
            AmpOptimizer amp = mine.amp().build();
            double[] ofRank = hvd.rank() == 1 ? new double[] {1} : new double[] {1, Double.NaN, 2, 2};
            for (double value : ofRank) {
                amp.zeroGradients();
                mine.backward(amp, value, value);
                amp.step();
            }
            assertThat(amp.join(JoinDivisor.ACTIVE)).isZero();

            assertThat(amp.scaler().stateDict()).containsEntry("scale", 32768.0).containsEntry("_growth_tracker", 2.0);
            amp.zeroGradients();
            mine.backward(amp, 1, 1);
            amp.step();
            assertThat(amp.stepped()).isTrue();
            assertThat((float[])
                            hvd.allgather("weights", Tensor.of(mine.weight)).toArray())
                    .containsExactly(mine.weight[0], mine.weight[0], mine.weight[0], mine.weight[0]);
            return null;
        });
    }

    @Test
    void theOptimizerInsideCannotJoinByItself() {
        Hvd.spawn(2, hvd -> {
            DistributedOptimizer inside = distributed().build();
            AmpOptimizer amp = AmpOptimizer.wrap(inside).build();
            assertMisuse(() -> inside.join(JoinDivisor.ACTIVE), "join(...)", "Call AmpOptimizer.join(divisor)");
            amp.join(JoinDivisor.ACTIVE);
            return null;
        });
    }

    @Test
    void limitsAndScalersThatDifferBetweenTheRanksAreRefusedInTheFirstStep() {
        assertRefused(
                (amp, rank) -> rank == 0 ? amp.clipGradientNorm(1) : amp,
                "\"clipped norm of unscaled gradients\" is 1.0 on ranks [0] and absent on ranks [1]");
        assertRefused(
                (amp, rank) -> amp.scaler(
                        GradScaler.builder().growthInterval(10 + rank).build()),
                "\"growth interval of the loss scale\" is 10 on ranks [0] and 11 on ranks [1]");
        assertRefused(
                (amp, rank) -> rank == 0 ? amp : amp.scaler(GradScaler.disabled()),
                "\"loss scaler\" is disabled on ranks [1] and enabled on ranks [0]");
    }

    private static void assertRefused(
            BiFunction<AmpOptimizer.Builder, Integer, AmpOptimizer.Builder> settings, String fact) {
        for (ReduceOp op : new ReduceOp[] {ReduceOp.AVERAGE, ReduceOp.ADASUM}) {
            Hvd.spawn(2, hvd -> {
                AmpOptimizerTest mine = new AmpOptimizerTest();
                AmpOptimizer.Builder builder =
                        AmpOptimizer.wrap(mine.distributed().op(op).build());
                AmpOptimizer amp = settings.apply(builder, hvd.rank()).build();
                mine.backward(amp, 1, 1);
                assertThatThrownBy(amp::step).hasMessageContainingAll(ErrorId.DIVERGED.code(), fact);
                assertThat(mine.weight).containsExactly(1, 1);
                return null;
            });
        }
    }
}
