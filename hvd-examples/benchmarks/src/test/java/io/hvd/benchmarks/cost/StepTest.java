package io.hvd.benchmarks.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** A step with overlap: one second for every hundred bytes, nothing for a message. */
class StepTest {
    private static final JobShape TWO = new JobShape(2, 2);
    private static final CostModel MODEL = model(0, 0.01);

    @Test
    void whatBackwardHidesCostsNothing() {
        Step step = new Step(10, List.of(new Gradient(100, 2), new Gradient(200, 5)));

        Step.Forecast forecast = step.at(TWO, MODEL, Long.MAX_VALUE);

        assertThat(forecast.stepSeconds()).isEqualTo(10);
        assertThat(forecast.exposedSeconds()).isZero();
        assertThat(forecast.allreduceSeconds()).isCloseTo(3, within(1e-9));
        assertThat(forecast.efficiency(10)).isEqualTo(1);
    }

    @Test
    void theLastGradientIsExposedAndWaitsForTheOneBefore() {
        Step step = new Step(10, List.of(new Gradient(400, 8), new Gradient(100, 10)));

        Step.Forecast forecast = step.at(TWO, MODEL, Long.MAX_VALUE);

        assertThat(forecast.stepSeconds()).isCloseTo(13, within(1e-9));
        assertThat(forecast.exposedSeconds()).isCloseTo(3, within(1e-9));
        assertThat(forecast.efficiency(10)).isCloseTo(10.0 / 13, within(1e-9));
    }

    @Test
    void whatBecomesReadyMeanwhileGoesTogetherUpToTheThreshold() {
        List<Gradient> gradients =
                List.of(new Gradient(100, 1), new Gradient(10, 1.1), new Gradient(10, 1.2), new Gradient(10, 1.3));
        CostModel latency = model(1, 0);
        Step step = new Step(1.5, gradients);

        assertThat(step.at(TWO, latency, Long.MAX_VALUE).stepSeconds()).isCloseTo(1 + 2, within(1e-9));
        assertThat(step.at(TWO, latency, 20).stepSeconds()).isCloseTo(1 + 3, within(1e-9));
        assertThat(step.at(TWO, latency, 0).stepSeconds()).isCloseTo(1 + 4, within(1e-9));
    }

    @Test
    void oneRankHasNothingToExchange() {
        assertThat(new Step(3, List.of(new Gradient(1 << 20, 3)))
                        .at(new JobShape(1, 1), MODEL, 0)
                        .stepSeconds())
                .isEqualTo(3);
    }

    @Test
    void evenGradientsFillBackwardAndAddUp() {
        Step step = Step.even(9, 2.0 / 3, 1000, 3);

        assertThat(step.gradients().stream().map(Gradient::bytes)).containsExactly(333L, 333L, 334L);
        assertThat(step.gradients().get(0).readySeconds()).isCloseTo(5, within(1e-9));
        assertThat(step.gradients().get(2).readySeconds()).isCloseTo(9, within(1e-9));
    }

    @Test
    void efficiencyFallsWithMoreHosts() {
        CostModel model = Made.model(Made.curve(Algorithm.RING, Form.MANY_BYTES, new JobShape(2, 2)));
        Step step = Step.even(0.1, 0.6, 100 << 20, 32);

        double before = 1;
        for (int hosts = 2; hosts <= 256; hosts *= 2) {
            double here = step.at(new JobShape(hosts, hosts), model, 1 << 27).efficiency(0.1);
            assertThat(here).as("%d hosts", hosts).isPositive().isLessThan(before);
            before = here;
        }
    }

    private static CostModel model(double alpha, double beta) {
        CalibrationHost host = new CalibrationHost("made-up", 1, false, 0);
        Piece piece = new Piece(Form.FEW_BYTES, Long.MAX_VALUE, new Link(0, 0), 0, new Link(alpha, beta));
        return new CostModel(host, Map.of(Algorithm.MPI, new Curve(Algorithm.MPI, Set.of(TWO), List.of(piece))));
    }
}
