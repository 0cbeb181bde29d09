package io.hvd.optimizer.exchange;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.RankBody;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.DistributedOptimizerBuilder;
import io.hvd.optimizer.GroupVectors;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.RecordingOptimizer;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Gradients that travel in groups which the program has chosen. */
@Timeout(60)
class ParameterGroupsTest extends GroupVectors {
    @Override
    protected void onAll(RankBody<Void> body) {
        for (int size : new int[] {2, 3}) {
            Hvd.spawn(size, body);
        }
    }

    private static final float[][] GRADIENTS = {{1, 2}, {3}, {4, 5, 6}};

    private static List<Parameter> parameters(int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> RecordingOptimizer.parameter("p" + i, Tensor.of(new float[1 + i])))
                .toList();
    }

    private static DistributedOptimizerBuilder builder(List<Parameter> parameters) {
        return DistributedOptimizer.wrap(new RecordingOptimizer(parameters));
    }

    private static void refused(ThrowingCallable call, String... facts) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                .message()
                .contains(facts);
    }

    @Test
    void tenParametersAreThreeConsecutiveGroupsOfNearlyTheSameSize() {
        assertThat(ParameterGroups.consecutive(10, 3))
                .containsExactly(List.of(0, 1, 2, 3), List.of(4, 5, 6), List.of(7, 8, 9));
        assertThat(ParameterGroups.consecutive(2, 5)).containsExactly(List.of(0), List.of(1));
        assertThat(ParameterGroups.consecutive(3, 1)).containsExactly(List.of(0, 1, 2));
    }

    @Test
    void parametersThatNoGroupNamesAreAlone() {
        assertThat(ParameterGroups.named(parameters(6), List.of(List.of("p4", "p1"), List.of("p2", "p3"))))
                .containsExactly(List.of(0), List.of(1, 4), List.of(2, 3), List.of(5));
    }

    @Test
    void theLastGroupComesFirstBecauseBackwardDoes() {
        Buckets buckets = new Buckets(ParameterGroups.consecutive(5, 2), parameters(5), Set.of());

        assertThat(buckets.members(0)).containsExactly(4, 3);
        assertThat(buckets.members(1)).containsExactly(2, 1, 0);
        assertThat(IntStream.range(0, 5).map(buckets::bucketOf)).containsExactly(1, 1, 1, 0, 0);
    }

    @Test
    void aParameterThatTravelsOtherwiseOrNotAtAllIsInNoBucket() {
        Buckets buckets = new Buckets(ParameterGroups.consecutive(4, 4), parameters(4), Set.of("p1"));

        assertThat(buckets.count()).isEqualTo(3);
        assertThat(IntStream.range(0, 4).filter(buckets::contain)).containsExactly(0, 2, 3);
        assertThat(buckets.bucketOf(0)).isEqualTo(2);
    }

    @Test
    void groupsThatContradictThemselvesAreRefusedWithTheirNames() {
        List<Parameter> three = parameters(3);
        refused(
                () -> ParameterGroups.named(three, List.of(List.of("p0", "p1"), List.of("p2", "p1"))),
                "\"p1\"",
                "group 0, [p0, p1]",
                "group 1, [p2, p1]");
        refused(
                () -> ParameterGroups.named(three, List.of(List.of("p0"), List.of("p7"))),
                "group 1",
                "\"p7\"",
                "no parameter",
                "[p0, p1, p2]");
        refused(() -> builder(three).numGroups(-2), "numGroups is -2");
        Hvd.spawn(1, hvd -> {
            refused(
                    () -> builder(three)
                            .numGroups(2)
                            .groups(List.of(List.of("p0")))
                            .build(),
                    "numGroups 2",
                    "1 groups",
                    "exclude each other");
            refused(() -> builder(three).numGroups(2).bucketBytes(100).build(), "bucketBytes 100");
            return null;
        });
    }

    /** Noticed by what a gradient in flight forbids. */
    @Test
    void theGradientsOfAGroupLeaveWithItsLast() {
        Hvd.spawn(2, hvd -> {
            DistributedOptimizer optimizer =
                    builder(parameters(4)).groups(List.of(List.of("p0", "p3"))).build();
            optimizer.gradientReady("p3");
            optimizer.noSync().close();
            optimizer.gradientReady("p0");
            refused(optimizer::noSync, "[p3, p0]", "are being averaged");
            optimizer.step();
            return null;
        });
    }

    @Test
    void groupsArePredividedAndCompressed() {
        List<float[]> averages = Hvd.spawn(4, hvd -> {
            List<Parameter> parameters = new ArrayList<>();
            for (int i = 0; i < GRADIENTS.length; i++) {
                float[] gradient = GRADIENTS[i].clone();
                gradient[0] = 30_000 + i + 0.25f;
                parameters.add(new Parameter("p" + i, Tensor.of(gradient), Tensor.of(gradient)));
            }
            builder(parameters)
                    .numGroups(2)
                    .compression(Compression.FP16)
                    .gradientPredivideFactor(4)
                    .build()
                    .synchronize();
            return new float[] {
                parameters.get(0).gradient().toFloatArray()[0],
                parameters.get(1).gradient().toFloatArray()[0],
                parameters.get(2).gradient().toFloatArray()[2]
            };
        });

        assertThat(averages)
                .as("no overflow, since it is divided before the sum, and rounded to float16")
                .allSatisfy(values -> assertThat(values).containsExactly(30_000, 30_000, 6));
    }

    @Test
    void ranksWithOtherGroupsAreNamedInTheFirstStep() {
        Hvd.spawn(3, hvd -> {
            DistributedOptimizer optimizer =
                    builder(parameters(4)).numGroups(hvd.rank() == 1 ? 3 : 2).build();
            HvdException error = catchThrowableOfType(HvdException.class, optimizer::step);
            assertThat(error.id()).isEqualTo(ErrorId.DIVERGED);
            assertThat(error)
                    .hasMessageContainingAll(
                            "\"groups of gradients\" is",
                            "2 groups of [2, 2] parameters",
                            "3 groups of [2, 1, 1] parameters",
                            "on ranks [1]");
            return null;
        });
    }

    @Test
    void normsAndBiasesTravelAsTheyAreIfAsked() {
        Hvd.spawn(2, hvd -> {
            float exact = 1 + 0x1p-12f;
            Tensor bias = Tensor.of(exact, 2 * hvd.rank());
            Tensor weight = Tensor.wrap(new float[] {exact, exact, 1, 1}, bias.dtype(), io.hvd.tensor.Shape.of(2, 2));
            DistributedOptimizer optimizer = builder(
                            List.of(new Parameter("w", weight, weight), new Parameter("b", bias, bias)))
                    .compression(Compression.FP16)
                    .allreduceAlwaysFp32(parameter -> parameter.value().shape().rank() < 2)
                    .build();
            optimizer.step();

            assertThat(bias.toFloatArray()).containsExactly(exact, 1);
            assertThat(weight.toFloatArray()).as("rounded").containsExactly(1, 1, 1, 1);
            assertThat(optimizer.lastStep().bytes()).isEqualTo(24);
            assertThat(optimizer.lastStep().bytesSent()).isEqualTo(8 + 8);
            return null;
        });
    }
}
