package io.hvd.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.benchmarks.cost.Algorithm;
import io.hvd.benchmarks.cost.CalibrationHost;
import io.hvd.benchmarks.cost.CostModel;
import io.hvd.benchmarks.cost.Fit;
import io.hvd.benchmarks.cost.JobShape;
import io.hvd.benchmarks.cost.Sample;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How far a model is off: MPI takes 1 us per KB by it, the ring 50 us and half as much. */
class ModelCheckTest {
    private static final JobShape TWO = new JobShape(2, 1);
    private static final CostModel MODEL = model();

    @Test
    void eachMeasurementHasItsSignedError() {
        List<Result> results = new ModelCheck(
                        MODEL, List.of(measured(Algorithm.MPI, 10_000, 8e-6), measured(Algorithm.MPI, 20_000, 25e-6)))
                .results();

        assertThat(results.stream().map(result -> result.more().get("relative_error")))
                .containsExactly("+0.250", "-0.200");
        assertThat(results.get(0).line()).startsWith("RESULT bench=model-mpi ranks=2 bytes=10000 ours_us=10.0");
    }

    @Test
    void aWrongChoiceCostsWhatTheRightOneWouldHaveSaved() {
        List<Sample> measured = List.of(
                measured(Algorithm.MPI, 10_000, 10e-6),
                measured(Algorithm.RING, 10_000, 55e-6),
                measured(Algorithm.MPI, 1_000_000, 400e-6),
                measured(Algorithm.RING, 1_000_000, 600e-6));

        assertThat(new ModelCheck(MODEL, measured).summary())
                .contains("samples=4", "right_choices=1/2", "worst_choice_loss=0.500");
    }

    @Test
    void whatTheModelKnowsNothingOfIsLeftOut() {
        Sample unknown = new Sample(Algorithm.MPI, new JobShape(2, 2), 10_000, 1);

        assertThat(new ModelCheck(MODEL, List.of(unknown)).results()).isEmpty();
        assertThat(new ModelCheck(MODEL, List.of(unknown)).summary()).isEqualTo("samples=0");
    }

    private static Sample measured(Algorithm algorithm, long bytes, double seconds) {
        return new Sample(algorithm, TWO, bytes, seconds);
    }

    private static CostModel model() {
        List<Sample> samples = new ArrayList<>();
        for (long bytes : List.of(1_000L, 10_000L, 100_000L, 1_000_000L)) {
            samples.add(measured(Algorithm.MPI, bytes, bytes * 1e-9));
            samples.add(measured(Algorithm.RING, bytes, 50e-6 + bytes * 0.5e-9));
        }
        return Fit.of(new CalibrationHost("made-up", 4, false, 0, Double.POSITIVE_INFINITY), samples);
    }
}
