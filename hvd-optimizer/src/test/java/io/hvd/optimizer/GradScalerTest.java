package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.RankBody;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The rules of the loss scale, with gradients in plain arrays. */
@Timeout(60)
class GradScalerTest extends ScalerVectors {
    @Override
    void onAll(RankBody<Void> body) {
        for (int size : new int[] {1, 4}) {
            Hvd.spawn(size, body);
        }
    }

    private static final float INFINITE = Float.POSITIVE_INFINITY;

    /** One weight of 1 and its gradient, stepped with a learning rate of 1. */
    private static final class Fixture {
        final float[] weight = {1};
        final float[] gradient = {0};
        final GradScaler scaler;
        final DistributedOptimizer optimizer;

        Fixture(GradScaler scaler, String scope) {
            this.scaler = scaler;
            this.optimizer = DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("w", weight, gradient), 1))
                    .scope(scope)
                    .build();
            optimizer.broadcastParameters(0);
        }

        Fixture(GradScaler scaler) {
            this(scaler, "gradient");
        }

        /** A backward whose unscaled gradient is this. */
        Fixture backward(double unscaled) {
            optimizer.zeroGradients();
            gradient[0] = (float) scaler.scale(unscaled);
            return this;
        }

        boolean iteration(double unscaled) {
            backward(unscaled);
            boolean stepped = scaler.step(optimizer);
            scaler.update();
            return stepped;
        }
    }

    private static void alone(Consumer<Fixture> body) {
        Hvd.spawn(1, hvd -> {
            body.accept(new Fixture(new GradScaler()));
            return null;
        });
    }

    /** A power of two changes the exponents and nothing else. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void aScaledTrainingEndsWithTheWeightsOfAnUnscaledOne(int size) {
        float[] expected = train(size, GradScaler.disabled());

        assertThat(train(size, new GradScaler()))
                .isEqualTo(expected)
                .as("weights that never moved would be equal, too")
                .isNotEqualTo(new TinyNet(7).weights());
    }

    private static float[] train(int size, GradScaler prototype) {
        return Hvd.spawn(size, hvd -> {
                    GradScaler scaler = GradScaler.builder()
                            .enabled(prototype.isEnabled())
                            .growthInterval(3)
                            .build();
                    TinyNet net = new TinyNet(7);
                    Optimizer adam = new Adam(net.parameters, 0.01);
                    DistributedOptimizer optimizer =
                            DistributedOptimizer.wrap(adam).build();
                    for (int step = 0; step < 10; step++) {
                        optimizer.zeroGradients();
                        net.backward(step * size + hvd.rank(), step * size + hvd.rank() + 1);
                        scale(adam, (float) scaler.scale(1));
                        scaler.step(optimizer);
                        scaler.update();
                    }
                    assertThat(scaler.scale()).isEqualTo(scaler.isEnabled() ? 65536 * 8 : 1);
                    return net.weights();
                })
                .get(0);
    }

    private static void scale(Optimizer optimizer, float factor) {
        optimizer.parameters().forEach(parameter -> {
            float[] values = parameter.gradient().toFloatArray();
            for (int i = 0; i < values.length; i++) {
                values[i] *= factor;
            }
            parameter.gradient().copyFrom(Tensor.of(values));
        });
    }

    @Test
    void unscaledGradientsAreTheAverageOfTheRanksAndTheOrderOfHorovodWorksToo() {
        Hvd.spawn(2, hvd -> {
            Fixture fixture = new Fixture(new GradScaler()).backward(1 + 2 * hvd.rank());

            fixture.optimizer.synchronize();
            assertThat(fixture.gradient).containsExactly(2 * 65536);
            fixture.scaler.unscale(fixture.optimizer);
            assertThat(fixture.gradient).containsExactly(2);
            fixture.gradient[0] = 0.5f; // as if clipped
            try (var skip = fixture.optimizer.skipSynchronize()) {
                assertThat(fixture.scaler.step(fixture.optimizer)).isTrue();
            }
            fixture.scaler.update();

            assertThat(fixture.weight).containsExactly(0.5f);
            return null;
        });
    }

    @Test
    void anOverflowInOneOfTwoOptimizersSkipsThatStepOnlyAndLowersTheScaleOnce() {
        Hvd.spawn(2, hvd -> {
            GradScaler scaler = new GradScaler();
            Fixture generator = new Fixture(scaler, "generator");
            Fixture critic = new Fixture(scaler, "critic");
            generator.backward(hvd.rank() == 1 ? INFINITE : 1);
            critic.backward(1);

            assertThat(scaler.step(generator.optimizer)).isFalse();
            assertThat(scaler.step(critic.optimizer)).isTrue();
            scaler.update();

            assertThat(generator.weight).containsExactly(1);
            assertThat(critic.weight).containsExactly(0);
            assertThat(scaler.scale()).isEqualTo(32768);
            return null;
        });
    }

    @Test
    void theScaleStaysWhereItIsIfItWouldBecomeInfinite() {
        Hvd.spawn(1, hvd -> {
            Fixture fixture = new Fixture(
                    GradScaler.builder().initScale(0x1p127).growthInterval(1).build());
            fixture.iteration(0);
            assertThat(fixture.scaler.scale()).isEqualTo(0x1p127);
            assertThat(fixture.scaler.growthTracker()).isZero();
            return null;
        });
    }

    @Test
    void theScaleNeverFallsToZeroFromWhichItCouldNotGrowAgain() {
        Hvd.spawn(1, hvd -> {
            Fixture fixture = new Fixture(
                    GradScaler.builder().backoffFactor(1e-30).growthInterval(1).build());
            for (int step = 0; step < 3; step++) {
                fixture.iteration(Float.NaN);
            }
            assertThat(fixture.scaler.scale()).isEqualTo(Float.MIN_NORMAL);
            assertThat(fixture.iteration(1)).isTrue();
            assertThat(fixture.weight).containsExactly(0);
            return null;
        });
    }

    @Test
    void aScaleOfOnesOwnIsSetByUpdateAndKeepsTheTracker() {
        alone(fixture -> {
            fixture.iteration(1);
            fixture.backward(1);
            fixture.scaler.step(fixture.optimizer);
            fixture.scaler.update(1024);

            assertThat(fixture.scaler.scale()).isEqualTo(1024);
            assertThat(fixture.scaler.growthTracker()).isEqualTo(1);
            assertThat(fixture.iteration(1)).isTrue();
            assertThat(fixture.weight).containsExactly(-2);
        });
    }

    /** As with torch's, whose {@code update(new_scale)} asks for no check either. */
    @Test
    void aScaleOfOnesOwnMayBeSetBeforeAnythingWasCheckedAndEarlierLossesNoLongerCount() {
        alone(fixture -> {
            fixture.scaler.update(1024);
            assertThat(fixture.scaler.scale()).isEqualTo(1024);

            fixture.backward(1).scaler.update(2048);
            assertMisuse(() -> fixture.scaler.step(fixture.optimizer), "without scale(loss)", "2048.0");
            assertThat(fixture.weight).containsExactly(1);
            assertThat(fixture.iteration(1)).isTrue();
            assertThat(fixture.weight).containsExactly(0);
        });
    }

    @Test
    void disabledItScalesAndSkipsNothing() {
        Hvd.spawn(2, hvd -> {
            Fixture fixture = new Fixture(GradScaler.disabled());
            assertThat(fixture.scaler.scale(3)).isEqualTo(3);
            assertThat(fixture.iteration(INFINITE)).isTrue();
            assertThat(fixture.weight).containsExactly(-INFINITE);
            assertThat(fixture.scaler.stateDict()).isEmpty();
            fixture.scaler.loadStateDict(Map.of());
            return null;
        });
    }

    @Test
    void unscaleTwiceIsRefused() {
        alone(fixture -> {
            fixture.backward(1).scaler.unscale(fixture.optimizer);
            assertMisuse(
                    () -> fixture.scaler.unscale(fixture.optimizer),
                    "unscale(optimizer), for Sgd of 1 parameters, \"w\" the first, has already been called for it since"
                            + " the last update()");
            assertThat(fixture.gradient).as("divided once").containsExactly(1);
        });
    }

    @Test
    void unscaleAfterStepIsRefused() {
        alone(fixture -> {
            fixture.backward(1).scaler.step(fixture.optimizer);
            assertMisuse(() -> fixture.scaler.unscale(fixture.optimizer), "comes after step() of the same optimizer");
        });
    }

    @Test
    void stepTwiceIsRefused() {
        alone(fixture -> {
            fixture.backward(1).scaler.step(fixture.optimizer);
            assertMisuse(
                    () -> fixture.scaler.step(fixture.optimizer),
                    "step(optimizer), for Sgd of 1 parameters, \"w\" the first, has already been called");
            assertThat(fixture.weight).containsExactly(0);
        });
    }

    @Test
    void stepAndUnscaleOfAnUnscaledLossAreRefused() {
        alone(fixture -> {
            assertMisuse(() -> fixture.scaler.step(fixture.optimizer), "step(optimizer)", "without scale(loss)");
            fixture.iteration(1);
            assertMisuse(() -> fixture.scaler.unscale(fixture.optimizer), "unscale(optimizer)", "without scale(loss)");
        });
    }

    @Test
    void updateWithoutAnyCheckIsRefused() {
        alone(fixture -> {
            fixture.backward(1);
            assertMisuse(fixture.scaler::update, "update() without unscale(optimizer) or step(optimizer)", "65536.0");
            assertThat(fixture.scaler.growthTracker()).isZero();
        });
    }

    @Test
    void gradientsInFloat16AreNotUnscaled() {
        Hvd.spawn(1, hvd -> {
            Tensor halves = Tensor.wrap(new short[2], DType.FLOAT16, Shape.of(2));
            var optimizer = DistributedOptimizer.wrap(
                            new RecordingOptimizer(List.of(new Parameter("narrow", halves, halves))))
                    .build();
            GradScaler scaler = new GradScaler();
            scaler.scale(1);
            assertThatThrownBy(() -> scaler.unscale(optimizer))
                    .hasMessageContaining(ErrorId.OPTIMIZER_MISUSE.code())
                    .hasMessageContainingAll("unscale(optimizer)", "\"narrow\"", "float16");
            return null;
        });
    }

    @ParameterizedTest
    @CsvSource({"FLOAT64, 3", "BFLOAT16, 3"})
    void gradientsOfOtherTypesAreUnscaledToo(DType type, double expected) {
        Hvd.spawn(2, hvd -> {
            Tensor gradient = type == DType.FLOAT64
                    ? Tensor.of(3.0 * 65536, 0.0)
                    : Tensor.wrap(new short[] {0x4840, 0}, type, Shape.of(2)); // 3 * 65536
            var optimizer = DistributedOptimizer.wrap(
                            new RecordingOptimizer(List.of(new Parameter("p", gradient, gradient))))
                    .build();
            GradScaler scaler = new GradScaler();
            scaler.scale(1);
            scaler.unscale(optimizer);
            Object result = gradient.toArray();
            if (type == DType.FLOAT64) {
                assertThat((double[]) result).containsExactly(expected, 0);
            } else {
                assertThat((short[]) result).containsExactly((short) 0x4040, (short) 0);
            }
            return null;
        });
    }

    @Test
    void differentScalesAreNamedOnAllRanksBeforeAnythingIsStepped() {
        Hvd.spawn(3, hvd -> {
            Fixture fixture = new Fixture(new GradScaler());
            if (hvd.rank() == 1) {
                Map<String, Double> other = new TreeMap<>(fixture.scaler.stateDict());
                other.put("scale", 1024.0);
                fixture.scaler.loadStateDict(other);
            }
            fixture.backward(1);
            assertThatThrownBy(() -> fixture.scaler.step(fixture.optimizer))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContaining(ErrorId.DIVERGED.code())
                    .hasMessageContaining("1024.0 on ranks [1] and 65536.0 on ranks [0, 2]");
            assertThat(fixture.weight).containsExactly(1);
            return null;
        });
    }

    @Test
    void aTrainingGoesOnWithTheStateOfAnother() {
        alone(fixture -> {
            fixture.iteration(INFINITE);
            fixture.iteration(1);
            Map<String, Double> state = fixture.scaler.stateDict();
            assertThat(state)
                    .containsExactlyInAnyOrderEntriesOf(Map.of(
                            "scale", 32768.0,
                            "growth_factor", 2.0,
                            "backoff_factor", 0.5,
                            "growth_interval", 2000.0,
                            "_growth_tracker", 1.0));

            GradScaler other = new GradScaler();
            other.loadStateDict(state);
            assertThat(other.stateDict()).isEqualTo(state);
        });
    }

    @ParameterizedTest(name = "{0} = {1}")
    @CsvSource({
        "growth_factor, 1, growthFactor(1.0)",
        "backoff_factor, 1, backoffFactor(1.0)",
        "growth_interval, 0, growthInterval(0)",
        "growth_interval, 1.5, 1.5",
        "_growth_tracker, -1, -1",
        "scale, 0, initScale(0.0)",
        "other, 1, other",
    })
    void aStateThatDoesNotFitChangesNothing(String name, double value, String fact) {
        GradScaler scaler = new GradScaler();
        Map<String, Double> state = new TreeMap<>(scaler.stateDict());
        state.put("scale", 2.0);
        state.put(name, value);

        assertThatThrownBy(() -> scaler.loadStateDict(state))
                .hasMessageContaining(ErrorId.STATE_MISMATCH.code())
                .hasMessageContaining(fact);
        assertThat(scaler.scale()).isEqualTo(65536);
    }

    @Test
    void theStateOfADisabledScalerIsRefusedByAnEnabledOne() {
        assertThatThrownBy(() ->
                        new GradScaler().loadStateDict(GradScaler.disabled().stateDict()))
                .hasMessageContaining("it is empty, as that of a disabled GradScaler is");
    }

    @Test
    void settingsThatCannotWorkAreRefused() {
        GradScaler.Builder builder = GradScaler.builder();
        assertBad(() -> builder.growthFactor(1), "growthFactor(1.0)", "more than 1");
        assertBad(() -> builder.backoffFactor(1), "backoffFactor(1.0)", "less than 1");
        assertBad(() -> builder.growthInterval(0), "growthInterval(0)", "1 or more");
        assertBad(() -> builder.initScale(1e39), "1.0E39", "float32");
    }

    /** A rank that has no more data neither stops nor changes the vote of the others. */
    @Test
    void aRankThatHasJoinedDoesNotVote() {
        Hvd.spawn(2, hvd -> {
            Fixture fixture = new Fixture(new GradScaler());
            fixture.iteration(2);
            if (hvd.rank() == 0) {
                assertThat(fixture.iteration(INFINITE)).isFalse();
                assertThat(fixture.iteration(2)).isTrue();
            }
            hvd.join();
            return null;
        });
    }

    private static void assertMisuse(ThrowingCallable call, String... facts) {
        assertThatThrownBy(call)
                .isInstanceOf(HvdException.class)
                .hasMessageContaining(ErrorId.OPTIMIZER_MISUSE.code())
                .hasMessageContainingAll(facts)
                .hasMessageContaining("The order is scale(loss), backward, unscale(optimizer)");
    }

    private static void assertBad(ThrowingCallable call, String... facts) {
        assertThatThrownBy(call)
                .hasMessageContaining(ErrorId.BAD_ARGUMENT.code())
                .hasMessageContainingAll(facts);
    }
}
