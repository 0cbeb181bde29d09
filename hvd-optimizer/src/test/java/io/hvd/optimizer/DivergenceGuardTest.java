package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.hvd.Hvd;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.util.List;
import org.junit.jupiter.api.Test;

class DivergenceGuardTest {
    private static List<Parameter> parameters(float[] first, double[] second) {
        return List.of(
                new Parameter("first", Tensor.of(first), Tensor.of(new float[first.length])),
                new Parameter("second", Tensor.of(second), Tensor.of(new double[second.length])));
    }

    @Test
    void equalReplicasPassHoweverLongTheyAre() {
        Hvd.spawn(3, hvd -> {
            DivergenceGuard guard = new DivergenceGuard(hvd, parameters(new float[50_001], new double[] {1, 2}), 2, "");
            for (int step = 0; step < 6; step++) {
                guard.stepped();
            }
            assertThat(guard.checkNanos()).isPositive();
            return null;
        });
    }

    @Test
    void theFirstParameterThatDiffersIsNamedWithRanksAndSteps() {
        Hvd.spawn(3, hvd -> {
            float[] first = new float[40_000];
            double[] second = {1, 2};
            DivergenceGuard guard = new DivergenceGuard(hvd, parameters(first, second), 2, "");
            guard.stepped();
            guard.stepped();
            if (hvd.rank() == 1) {
                second[1] = Math.nextUp(2.0);
            }
            guard.stepped();
            HvdException error = catchThrowableOfType(HvdException.class, guard::stepped);
            assertThat(error.id()).isEqualTo(ErrorId.DIVERGED);
            assertThat(error)
                    .hasMessageContainingAll(
                            "step 4",
                            "\"second\"",
                            "[1]",
                            "[0, 2]",
                            "after step 2.",
                            "learning rate",
                            "skipSynchronize()");
            return null;
        });
    }

    @Test
    void aDifferenceInTheLastElementOfALongParameterIsSeen() {
        Hvd.spawn(2, hvd -> {
            float[] first = new float[40_000];
            first[39_999] = hvd.rank();
            DivergenceGuard guard = new DivergenceGuard(hvd, parameters(first, new double[1]), 1, "");
            assertThat(catchThrowableOfType(HvdException.class, guard::stepped))
                    .hasMessageContainingAll("step 1", "\"first\"", "broadcastParameters");
            return null;
        });
    }

    @Test
    void zeroStepsMeansNever() {
        Hvd.spawn(2, hvd -> {
            DivergenceGuard guard =
                    new DivergenceGuard(hvd, parameters(new float[] {hvd.rank()}, new double[1]), 0, "");
            for (int step = 0; step < 10; step++) {
                guard.stepped();
            }
            return null;
        });
    }
}
