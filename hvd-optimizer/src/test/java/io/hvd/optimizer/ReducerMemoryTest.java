package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.reduce.GradientReducer;
import io.hvd.optimizer.reduce.Int8;
import io.hvd.optimizer.reduce.PowerSgd;
import io.hvd.optimizer.reduce.Threshold;
import io.hvd.optimizer.reduce.TopK;
import io.hvd.tensor.Shape;
import java.util.Arrays;
import java.util.Random;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What the reducers keep from step to step: it stays finite, and in the measure of the losses without their scale. */
@Timeout(60)
class ReducerMemoryTest {
    private static final int SIDE = 40;

    /** A reducer with a look into its memory. */
    private record Kept(GradientReducer reducer, Function<String, float[]> leftOut) {}

    private enum Kind {
        INT8 {
            @Override
            Kept make() {
                Int8 made = new Int8();
                return new Kept(made, made::leftOut);
            }
        },
        TOP_K {
            @Override
            Kept make() {
                TopK made = new TopK(0.1);
                return new Kept(made, made::leftOut);
            }
        },
        THRESHOLD {
            @Override
            Kept make() {
                Threshold made = new Threshold(0.01);
                return new Kept(made, made::leftOut);
            }
        },
        POWER_SGD {
            @Override
            Kept make() {
                PowerSgd made = new PowerSgd(PowerSgd.Settings.ofRank(2).startingAt(0));
                return new Kept(made, made::leftOut);
            }
        },
        POWER_SGD_WITH_EPSILON {
            @Override
            Kept make() {
                PowerSgd made = new PowerSgd(new PowerSgd.Settings(2, 0, 2, true, true, 1e-3, 0));
                return new Kept(made, made::leftOut);
            }
        };

        abstract Kept make();
    }

    /** One matrix of parameters that a reducer compresses. */
    private static final class Matrix {
        final float[] values = new float[SIDE * SIDE];
        final float[] gradients = new float[SIDE * SIDE];
        final Kept kept;
        final DistributedOptimizer optimizer;

        Matrix(HvdContext hvd, Kind kind, double rate) {
            kept = kind.make();
            optimizer = DistributedOptimizer.wrap(
                            new Sgd(new ArrayParameters().add("m", values, gradients, Shape.of(SIDE, SIDE)), rate))
                    .context(hvd)
                    .reducer(kept.reducer)
                    .build();
        }

        void fill(Random random, double scale) {
            for (int i = 0; i < gradients.length; i++) {
                gradients[i] = (float) ((float) (random.nextGaussian() * 0.01) * scale);
            }
        }
    }

    private static boolean isFinite(float[] all) {
        for (float each : all) {
            if (!Float.isFinite(each)) {
                return false;
            }
        }
        return true;
    }

    static Stream<Arguments> kindsAndHugeNumbers() {
        return Stream.of(Kind.values())
                .flatMap(kind -> Stream.of(1e19f, 1e30f, 3e38f, Float.MAX_VALUE).map(huge -> Arguments.of(kind, huge)));
    }

    /** As with a loss scale that is too large: the numbers are finite, but their sums are not. */
    @ParameterizedTest
    @MethodSource("kindsAndHugeNumbers")
    void stepsOfHugeFiniteGradientsPoisonNoLaterStep(Kind kind, float huge) {
        Hvd.spawn(2, hvd -> {
            Matrix matrix = new Matrix(hvd, kind, 0);
            Random random = new Random(7 + hvd.rank());
            for (int step = 0; step < 10; step++) {
                matrix.fill(random, 1);
                boolean isHuge = step == 2 || step == 3;
                for (int i = 0; isHuge && hvd.rank() == 0 && i < matrix.gradients.length; i++) {
                    matrix.gradients[i] = i % 2 == 0 ? huge : -huge;
                }
                matrix.optimizer.synchronize();
                assertThat(isFinite(matrix.kept.leftOut.apply("m")))
                        .as("memory after step " + step)
                        .isTrue();
                assertThat(isHuge || isFinite(matrix.gradients))
                        .as("average of step " + step)
                        .isTrue();
                try (var skip = matrix.optimizer.skipSynchronize()) {
                    matrix.optimizer.step();
                }
            }
            return null;
        });
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aStepThatIsNotFiniteOnOneRankLeavesTheMemoryOfAllAsItWasToTheLastBit(Kind kind) {
        Hvd.spawn(2, hvd -> {
            Matrix matrix = new Matrix(hvd, kind, 0);
            Random random = new Random(3 + hvd.rank());
            matrix.fill(random, 1);
            matrix.optimizer.step();
            float[] before = matrix.kept.leftOut.apply("m");
            assertThat(before).isNotEqualTo(new float[before.length]);

            matrix.fill(random, 1e30);
            if (hvd.rank() == 1) {
                Arrays.fill(matrix.gradients, Float.POSITIVE_INFINITY);
            }
            matrix.optimizer.step();

            assertThat(matrix.kept.leftOut.apply("m")).isEqualTo(before);
            return null;
        });
    }

    /** Scales are powers of two, which change no bit of a gradient. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void aLossScaleThatChangesMakesTheStepsThatNoneMakes(Kind kind) {
        Hvd.spawn(2, hvd -> {
            for (boolean inAmp : new boolean[] {false, true}) {
                Matrix plain = new Matrix(hvd, kind, 0.5);
                Matrix scaled = new Matrix(hvd, kind, 0.5);
                GradScaler scaler = GradScaler.builder().growthInterval(3).build();
                AmpOptimizer amp = inAmp
                        ? AmpOptimizer.wrap(scaled.optimizer).scaler(scaler).build()
                        : null;
                for (int step = 0; step < 12; step++) {
                    int seed = 100 * step + hvd.rank();
                    plain.fill(new Random(seed), 1);
                    plain.optimizer.step();
                    if (amp != null) {
                        amp.backward(scale -> scaled.fill(new Random(seed), scale));
                        amp.step();
                    } else {
                        scaled.fill(new Random(seed), scaler.scale(1));
                        scaler.step(scaled.optimizer);
                        scaler.update();
                    }
                }
                assertThat(scaler.scale()).isEqualTo(65536.0 * 16);
                assertThat(scaled.values).isEqualTo(plain.values);
                assertThat(scaled.kept.leftOut.apply("m")).isEqualTo(plain.kept.leftOut.apply("m"));
                assertThat(plain.values).isNotEqualTo(new float[SIDE * SIDE]);
            }
            return null;
        });
    }
}
