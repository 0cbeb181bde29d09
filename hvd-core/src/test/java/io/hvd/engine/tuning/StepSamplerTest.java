package io.hvd.engine.tuning;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Samples of steps on a clock of the test's own; a static plan begins after four identical steps. */
class StepSamplerTest {
    private static final long MILLI = 1_000_000;

    private final StepSampler sampler = new StepSampler(3, 0, 4, true);
    private long now;

    /** Steps of the static plan. */
    private Optional<StepSample> planned(long... millis) {
        Optional<StepSample> last = Optional.empty();
        for (long each : millis) {
            last = sampler.stepEnded(1000, now += each * MILLI);
        }
        return last;
    }

    /** A negotiated step of two operations, the second after half of the time. */
    private Optional<StepSample> negotiated(long millis) {
        Optional<StepSample> first = sampler.ran(List.of("a", "b"), 600, now += millis * MILLI / 2);
        Optional<StepSample> second = sampler.ran(List.of("c"), 400, now += millis * MILLI / 2);
        assertThat(second).isEmpty();
        return first;
    }

    @Test
    void aSampleIsTheMedianOfItsStepsAfterTheFirstOnesOfAPlan() {
        sampler.planBegan();
        assertThat(planned(900, 800, 700)).isEmpty();
        assertThat(planned(2, 50)).isEmpty();
        assertThat(planned(4)).contains(new StepSample(0.25, 4000, 1000, true));
        assertThat(planned(5, 5)).isEmpty();
        assertThat(planned(5)).contains(new StepSample(0.2, 5000, 1000, true));
    }

    @Test
    void aNegotiatedStepEndsWhenANameComesAgain() {
        for (int i = 0; i < 9; i++) {
            assertThat(negotiated(10)).as("step " + i).isEmpty();
        }
        negotiated(8);
        assertThat(negotiated(8)).contains(new StepSample(1 / 9.0, 9000, 1000, false));
    }

    @Test
    void whatWasMeasuredBeforeAChangeDoesNotCount() {
        sampler.planBegan();
        planned(1, 1, 1, 1, 1);
        sampler.settingsChanged();
        planned(9, 9, 9, 2, 2);
        assertThat(planned(2)).map(StepSample::stepMicros).contains(2000.0);

        planned(1, 1);
        sampler.planEnded();
        negotiated(100);
        sampler.planBegan();
        planned(9, 9, 9, 3, 3);
        assertThat(planned(3)).map(StepSample::stepMicros).contains(3000.0);
    }

    @Test
    void aSampleOfShortStepsHasMoreOfThem() {
        StepSampler longer = new StepSampler(3, 20 * MILLI, 0, true);
        longer.planBegan();
        int steps = 0;
        while (longer.stepEnded(1000, now += MILLI).isEmpty()) {
            steps++;
        }
        assertThat(steps).isEqualTo(1 + 2 + 20 - 1);
    }
}
