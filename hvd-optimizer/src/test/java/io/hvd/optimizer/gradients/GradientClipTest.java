package io.hvd.optimizer.gradients;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.Closeness;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.DistributedOptimizerBuilder;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.tensor.ReduceOp;
import java.util.List;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Averaged gradients that are clipped by the step itself. */
@Timeout(60)
class GradientClipTest {
    private final float[] a = {0};
    private final float[] b = {0, 0};
    private final float[] aGradient = new float[1];
    private final float[] bGradient = new float[2];
    private final ArrayParameters parameters =
            new ArrayParameters().add("a", a, aGradient).add("b", b, bGradient);

    private DistributedOptimizer optimizer(UnaryOperator<DistributedOptimizerBuilder> settings) {
        return settings.apply(DistributedOptimizer.wrap(new Sgd(parameters, 1))).build();
    }

    /** The averages over all ranks are 3, 0 and -4. */
    private void backward(HvdContext hvd) {
        aGradient[0] = hvd.rank() == 0 ? 3 * hvd.size() : 0;
        bGradient[0] = hvd.rank() == 0 && hvd.size() > 1 ? 2 : 0;
        bGradient[0] = hvd.rank() == 1 ? -2 : bGradient[0];
        bGradient[1] = hvd.rank() == hvd.size() - 1 ? -4 * hvd.size() : 0;
    }

    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {1, 2, 3})
    void theNormIsThatOfTheAveragesAndTheSameOnAllRanks(int ranks) {
        List<float[]> all = Hvd.spawn(ranks, hvd -> {
            GradientClipTest mine = new GradientClipTest();
            DistributedOptimizer optimizer = mine.optimizer(builder -> builder.clipGradientNorm(2.5));
            assertThat(optimizer.lastGradientNorm()).isNaN();
            mine.backward(hvd);
            optimizer.step();
            assertThat(optimizer.lastGradientNorm()).isCloseTo(5, within(1e-6));
            return new float[] {mine.a[0], mine.b[0], mine.b[1]};
        });

        for (float[] values : all) {
            assertThat(values).isEqualTo(all.get(0));
            Closeness.assertClose(values, new float[] {-1.5f, 0, 2}, 1e-5);
        }
    }

    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {1, 2, 3})
    void elementsAreBroughtIntoTheRange(int ranks) {
        Hvd.spawn(ranks, hvd -> {
            GradientClipTest mine = new GradientClipTest();
            DistributedOptimizer optimizer = mine.optimizer(builder -> builder.clipGradientValue(3.5));
            mine.backward(hvd);
            optimizer.step();
            Closeness.assertClose(new float[] {mine.a[0], mine.b[0], mine.b[1]}, new float[] {-3, 0, 3.5f}, 1e-6);
            return null;
        });
    }

    @Test
    void gradientsBelowTheLimitsStayAsTheyAreToTheLastBit() {
        Hvd.spawn(2, hvd -> {
            GradientClipTest mine = new GradientClipTest();
            DistributedOptimizer optimizer =
                    mine.optimizer(builder -> builder.clipGradientNorm(5.1).clipGradientValue(4));
            mine.backward(hvd);
            optimizer.step();
            assertThat(mine.a).containsExactly(-3);
            assertThat(mine.b).containsExactly(0, 4);
            return null;
        });
    }

    @Test
    void stateThatIsSharedOutGetsTheSameClippedGradients() {
        Hvd.spawn(3, hvd -> {
            GradientClipTest whole = new GradientClipTest();
            GradientClipTest shared = new GradientClipTest();
            Function<ArrayParameters, Optimizer> make = parameters -> new Sgd(parameters, 1, 0.9, 0);
            DistributedOptimizer plain = DistributedOptimizer.wrap(make.apply(whole.parameters))
                    .clipGradientNorm(1)
                    .build();
            DistributedOptimizer sharded = DistributedOptimizer.wrap(
                            ShardedOptimizer.ofArrays(hvd, shared.parameters, make))
                    .scope("sharded")
                    .clipGradientNorm(1)
                    .build();
            for (int step = 0; step < 3; step++) {
                whole.backward(hvd);
                plain.step();
                shared.backward(hvd);
                sharded.step();
            }
            assertThat(shared.a).isEqualTo(whole.a);
            assertThat(shared.b).isEqualTo(whole.b);
            assertThat(shared.b[1]).isBetween(1f, 10f);
            return null;
        });
    }

    /** The loss scale is taken out before the limit is looked at. */
    @Test
    void mixedPrecisionClipsUnscaledValues() {
        Hvd.spawn(2, hvd -> {
            GradientClipTest mine = new GradientClipTest();
            AmpOptimizer amp = AmpOptimizer.wrap(mine.optimizer(builder -> builder.clipGradientValue(2)))
                    .build();
            amp.backward(scale -> {
                mine.backward(hvd);
                mine.aGradient[0] *= (float) scale;
                mine.bGradient[0] *= (float) scale;
                mine.bGradient[1] *= (float) scale;
            });
            amp.step();
            assertThat(mine.a).containsExactly(-2);
            assertThat(mine.b).containsExactly(0, 2);
            return null;
        });
    }

    @Test
    void withAdasumEachRankClipsItsOwn() {
        Hvd.spawn(2, hvd -> {
            GradientClipTest mine = new GradientClipTest();
            DistributedOptimizer optimizer =
                    mine.optimizer(builder -> builder.op(ReduceOp.ADASUM).clipGradientNorm(1));
            mine.aGradient[0] = hvd.rank() == 0 ? 30 : 0;
            mine.bGradient[0] = hvd.rank() == 0 ? 0 : 0.5f;
            optimizer.step();
            assertThat(optimizer.lastGradientNorm()).isEqualTo(hvd.rank() == 0 ? 30 : 0.5);
            Closeness.assertClose(new float[] {mine.a[0], mine.b[0]}, new float[] {-1, -0.5f}, 1e-5);
            return null;
        });
    }

    /** A rank that clips would wait for the others' norm otherwise. */
    @Test
    void ranksThatClipDifferentlyAreNamedBeforeTheFirstStep() {
        Hvd.spawn(3, hvd -> {
            GradientClipTest mine = new GradientClipTest();
            DistributedOptimizer optimizer =
                    mine.optimizer(builder -> hvd.rank() == 1 ? builder : builder.clipGradientNorm(1 + hvd.rank()));
            mine.backward(hvd);
            assertThatThrownBy(optimizer::step)
                    .hasMessageContaining(
                            "\"clipped gradient norm\" is 1.0 on ranks [0] and 3.0 on ranks [2] and absent on ranks [1]");
            assertThat(mine.a).containsExactly(0);
            return null;
        });
    }

    @Test
    void aLimitThatIsNotPositiveIsRefused() {
        assertThatThrownBy(
                        () -> DistributedOptimizer.wrap(new Sgd(parameters, 1)).clipGradientNorm(0))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BAD_ARGUMENT))
                .hasMessageContaining("clipGradientNorm(0.0): expected a number above 0");
        assertThatThrownBy(
                        () -> DistributedOptimizer.wrap(new Sgd(parameters, 1)).clipGradientValue(Double.NaN))
                .hasMessageContaining("clipGradientValue(NaN)");
    }

    /** As torch's clip_grad_norm_ does of [3, NaN, 4]. */
    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {1, 2})
    void aNormThatIsNanMakesAllGradientsNanInsteadOfLeavingThemUnclipped(int ranks) {
        Hvd.spawn(ranks, hvd -> {
            GradientClipTest mine = new GradientClipTest();
            DistributedOptimizer optimizer = mine.optimizer(builder -> builder.clipGradientNorm(1));
            mine.aGradient[0] = 3;
            mine.bGradient[0] = hvd.rank() == 0 ? Float.NaN : 0;
            mine.bGradient[1] = 4;
            optimizer.step();
            assertThat(optimizer.lastGradientNorm()).isNaN();
            assertThat(new float[] {mine.a[0], mine.b[0], mine.b[1]}).containsOnly(Float.NaN);
            return null;
        });
    }

    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {1, 2})
    void withRefuseNonFiniteSuchAStepIsRefusedAndChangesNothing(int ranks) {
        Hvd.spawn(ranks, hvd -> {
            GradientClipTest mine = new GradientClipTest();
            DistributedOptimizer optimizer =
                    mine.optimizer(builder -> builder.clipGradientNorm(1).refuseNonFinite(true));
            mine.aGradient[0] = 3;
            mine.bGradient[0] = Float.NaN;
            assertThatThrownBy(optimizer::step)
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.NON_FINITE));
            assertThat(new float[] {mine.a[0], mine.b[0], mine.b[1]}).containsOnly(0);
            return null;
        });
    }
}
