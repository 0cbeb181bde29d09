package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.kernel.Converter;
import io.hvd.optimizer.gradients.FiniteScan;
import io.hvd.optimizer.reduce.TopK;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Random;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Gradients that are infinite or NaN are named before a step uses them. */
@Timeout(60)
class NonFiniteGradientsTest {
    private static final int LENGTH = 10_000;
    private final float[] w = new float[2];
    private final float[] b = new float[LENGTH];
    private final float[] wGradient = new float[2];
    private final float[] bGradient = new float[LENGTH];
    private final ArrayParameters parameters =
            new ArrayParameters().add("w", w, wGradient).add("b", b, bGradient);

    private DistributedOptimizer refusing(UnaryOperator<DistributedOptimizerBuilder> settings) {
        var builder = DistributedOptimizer.wrap(new Sgd(parameters, 1)).refuseNonFinite(true);
        return settings.apply(builder).build();
    }

    private void gradients(double ofW, double lastOfB) {
        wGradient[0] = (float) ofW;
        bGradient[LENGTH - 1] = (float) lastOfB;
    }

    private void assertUnchanged() {
        assertThat(w).containsOnly(0);
        assertThat(b).containsOnly(0);
    }

    private static void assertRefused(Runnable step, String... words) {
        assertThatThrownBy(step::run)
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.NON_FINITE))
                .hasMessageContainingAll(words);
    }

    @Test
    void theParameterTheElementTheRanksAndTheStepAreNamedOnAllRanks() {
        Hvd.spawn(3, hvd -> {
            NonFiniteGradientsTest mine = new NonFiniteGradientsTest();
            DistributedOptimizer optimizer = mine.refusing(builder -> builder);
            mine.gradients(0, 0);
            optimizer.step();
            mine.gradients(hvd.rank() == 2 ? Double.NEGATIVE_INFINITY : 1, hvd.rank() == 0 ? 1 : Double.NaN);
            assertRefused(
                    optimizer::step,
                    "step 1, counted from 0",
                    "on rank 1 \"b\", element 9999 of 10000 is NaN; on rank 2 \"w\", element 0 of 2 is -Infinity, and 1 more parameters",
                    "not finite: \"w\", element 0 of 2 is -Infinity");
            mine.assertUnchanged();
            return null;
        });
    }

    /** The program may leave the batch out. */
    @Test
    void theNextStepIsMadeIfItsGradientsAreFinite() {
        Hvd.spawn(2, hvd -> {
            NonFiniteGradientsTest mine = new NonFiniteGradientsTest();
            DistributedOptimizer optimizer = mine.refusing(builder -> builder);
            mine.gradients(hvd.rank() == 1 ? Double.NaN : 1, 1);
            assertRefused(optimizer::step, "step 0, counted from 0", "on rank 1 \"w\"");
            optimizer.zeroGradients();
            mine.gradients(2, hvd.rank());
            optimizer.step();
            assertThat(mine.w).containsExactly(-2, 0);
            assertThat(mine.b[LENGTH - 1]).isEqualTo(-0.5f);
            return null;
        });
    }

    @Test
    void oneRankIsTheSame() {
        Hvd.spawn(1, hvd -> {
            NonFiniteGradientsTest mine = new NonFiniteGradientsTest();
            DistributedOptimizer optimizer = mine.refusing(builder -> builder);
            mine.gradients(1, Double.POSITIVE_INFINITY);
            assertRefused(optimizer::step, "on rank 0 \"b\", element 9999 of 10000 is Infinity");
            mine.assertUnchanged();
            return null;
        });
    }

    @Test
    void gradientsThatAnnounceThemselvesAreNamedToo() {
        Hvd.spawn(2, hvd -> {
            NonFiniteGradientsTest mine = new NonFiniteGradientsTest();
            DistributedOptimizer optimizer =
                    mine.refusing(builder -> builder.numGroups(2).backwardPassesPerStep(2));
            for (int pass = 0; pass < 2; pass++) {
                mine.gradients(1, hvd.rank() == 0 && pass == 0 ? Double.NaN : mine.bGradient[LENGTH - 1] + 1);
                optimizer.gradientReady("b");
                optimizer.gradientReady("w");
            }
            assertRefused(optimizer::step, "on rank 0 \"b\"");
            return null;
        });
    }

    /** Each rank has a gradient of its own here, so they ask each other. */
    @ParameterizedTest
    @ValueSource(strings = {"ADASUM", "local parameter", "reducer that leaves elements out"})
    void whatOnlyOneRankSeesIsRefusedOnAll(String kind) {
        Hvd.spawn(2, hvd -> {
            NonFiniteGradientsTest mine = new NonFiniteGradientsTest();
            DistributedOptimizer optimizer = mine.refusing(builder -> switch (kind) {
                case "ADASUM" -> builder.op(ReduceOp.ADASUM);
                case "local parameter" -> builder.localParameters(List.of("b"));
                default -> builder.reducer(new TopK(0.01));
            });
            mine.gradients(1, hvd.rank() == 1 ? Double.NaN : 1);
            assertRefused(optimizer::step, "Not finite before the average: on rank 1 \"b\"");
            mine.assertUnchanged();
            return null;
        });
    }

    @Test
    void aSumThatHasBecomeTooLargeOnItsWayIsToldFromAGradientThatWasInfinite() {
        Hvd.spawn(2, hvd -> {
            NonFiniteGradientsTest mine = new NonFiniteGradientsTest();
            DistributedOptimizer optimizer = mine.refusing(builder -> builder.compression(Compression.FP16));
            mine.gradients(1e6, 1);
            assertRefused(
                    optimizer::step,
                    "\"w\", element 0 of 2 is Infinity",
                    "were finite before",
                    "in which gradients travel");
            return null;
        });
    }

    @Test
    void aSharedOutStateStepsNothing() {
        Hvd.spawn(2, hvd -> {
            NonFiniteGradientsTest mine = new NonFiniteGradientsTest();
            var sharded = ShardedOptimizer.ofArrays(hvd, mine.parameters, part -> new Sgd(part, 1, 0.9, 0));
            DistributedOptimizer optimizer =
                    DistributedOptimizer.wrap(sharded).refuseNonFinite(true).build();
            mine.gradients(hvd.rank() == 0 ? Double.NaN : 1, 1);
            assertRefused(optimizer::step, "on rank 0 \"w\"");
            mine.assertUnchanged();
            return null;
        });
    }

    /** A scaler finds its scale by overflows. Where it has come down to 1 they say something about the model. */
    @Test
    void aLossScaleExplainsOverflowsUntilItIsOne() {
        Hvd.spawn(2, hvd -> {
            NonFiniteGradientsTest mine = new NonFiniteGradientsTest();
            AmpOptimizer amp = AmpOptimizer.wrap(mine.refusing(builder -> builder))
                    .scaler(GradScaler.builder().initScale(4).build())
                    .build();
            for (int skipped = 1; skipped <= 2; skipped++) {
                amp.zeroGradients();
                amp.backward(scale -> mine.gradients(hvd.rank() == 1 ? Double.NaN : 1, 1));
                amp.step();
                assertThat(amp.skippedSteps()).isEqualTo(skipped);
            }
            amp.zeroGradients();
            amp.backward(scale -> mine.gradients(hvd.rank() == 1 ? Double.NaN : 1, 1));
            assertRefused(amp::step, "step 2, counted from 0", "on rank 1 \"w\"");
            mine.assertUnchanged();

            amp.zeroGradients();
            amp.backward(scale -> mine.gradients(1, 1));
            amp.step();
            assertThat(amp.stepped()).isTrue();
            assertThat(mine.w[0]).isEqualTo(-1);
            return null;
        });
    }

    /** Beside local parameters the rank that refuses asks the others, which do not answer. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aRankThatRefusesBesideOneThatDoesNotIsNamedBeforeTheFirstStep(boolean beside) {
        Hvd.spawn(2, hvd -> {
            NonFiniteGradientsTest mine = new NonFiniteGradientsTest();
            DistributedOptimizer optimizer = mine.refusing(builder ->
                    builder.refuseNonFinite(hvd.rank() == 0).localParameters(beside ? List.of("b") : List.of()));
            assertThatThrownBy(optimizer::step)
                    .hasMessageContaining(
                            "\"gradients that are not finite\" is allowed on ranks [1] and refused on ranks [0]");
            return null;
        });
    }

    @Test
    void withoutTheSwitchTheyPass() {
        Hvd.spawn(2, hvd -> {
            NonFiniteGradientsTest mine = new NonFiniteGradientsTest();
            DistributedOptimizer optimizer = mine.refusing(builder -> builder.refuseNonFinite(false));
            mine.gradients(hvd.rank() == 1 ? Double.NaN : 1, 1);
            optimizer.step();
            assertThat(mine.w[0]).isNaN();
            return null;
        });
    }

    /** The sum trick of the scan beside a plain loop, at random places of random lengths. */
    @ParameterizedTest
    @EnumSource(names = {"FLOAT16", "BFLOAT16", "FLOAT32", "FLOAT64"})
    void theScanFindsTheFirstElementWhereverItIs(DType type) {
        Random random = new Random(7);
        FiniteScan scan = new FiniteScan();
        double[] bad = {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY};
        for (int round = 0; round < 300; round++) {
            double[] values =
                    random.doubles(1 + random.nextInt(9000), -100, 100).toArray();
            Tensor tensor = of(type, values);
            assertThat(scan.first(tensor)).isEqualTo(-1);
            int first = random.nextInt(values.length);
            values[first] = bad[random.nextInt(3)];
            values[first + random.nextInt(values.length - first)] = Double.NaN;
            Tensor broken = of(type, values);
            assertThat(scan.first(broken)).isEqualTo(first);
            assertThat(scan.element(broken, first)).isEqualTo(Double.valueOf(values[first]));
        }
    }

    private static Tensor of(DType type, double... values) {
        if (type == DType.FLOAT64) {
            return Tensor.of(values);
        }
        float[] floats = new float[values.length];
        for (int i = 0; i < floats.length; i++) {
            floats[i] = (float) values[i];
        }
        ByteBuffer buffer =
                ByteBuffer.allocateDirect(values.length * type.bytes()).order(ByteOrder.nativeOrder());
        new Converter().pack(Tensor.of(floats), 0, floats.length, buffer, 0, type, 1);
        return Tensor.wrap(buffer, type, Shape.of(floats.length));
    }
}
