package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.HvdContext;
import io.hvd.RankBody;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Ten gradients in groups, on ranks of every kind. */
@Timeout(60)
public abstract class GroupVectors {
    private static final List<List<Integer>> THREE = List.of(List.of(0, 1, 2, 3), List.of(4, 5, 6), List.of(7, 8, 9));

    /** Runs a body on every rank, with several ranks. */
    protected abstract void onAll(RankBody<Void> body) throws Exception;

    /** Gradients that are rank and place added. */
    private static List<Parameter> ten(int rank) {
        List<Parameter> parameters = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            parameters.add(new Parameter("p" + i, Tensor.of(new float[2]), Tensor.of(rank + i, 100f)));
        }
        return parameters;
    }

    private static DistributedOptimizerBuilder builder(HvdContext hvd, List<Parameter> parameters) {
        return DistributedOptimizer.wrap(new RecordingOptimizer(parameters)).context(hvd);
    }

    /** Noticed by what a gradient in flight forbids. */
    @Test
    void tenParametersTravelInThreeConsecutiveGroupsOfNearlyTheSameSize() throws Exception {
        onAll(hvd -> {
            for (List<Integer> group : THREE) {
                List<Parameter> parameters = ten(hvd.rank());
                DistributedOptimizer optimizer =
                        builder(hvd, parameters).numGroups(3).build();
                for (int member : group.subList(1, group.size())) {
                    optimizer.gradientReady("p" + member);
                    optimizer.noSync().close();
                }
                optimizer.gradientReady("p" + group.get(0));
                assertMisuse(optimizer::noSync, "p" + group.get(group.size() - 1), "are being averaged");

                optimizer.step();
                for (int i = 0; i < 10; i++) {
                    assertThat(parameters.get(i).gradient().toFloatArray())
                            .containsExactly(i + (hvd.size() - 1) / 2f, 100);
                }
            }
            return null;
        });
    }

    @Test
    void aParameterInTwoGroupsIsRefusedWithBoth() throws Exception {
        onAll(hvd -> {
            assertMisuse(
                    () -> builder(hvd, ten(0))
                            .groups(List.of(List.of("p0", "p1"), List.of("p2", "p1")))
                            .build(),
                    "\"p1\"",
                    "group 0, [p0, p1]",
                    "group 1, [p2, p1]");
            return null;
        });
    }

    private static void assertMisuse(ThrowingCallable call, String... facts) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                .hasMessageContainingAll(facts);
    }
}
