package io.hvd.engine.tuning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.engine.tuning.Pace.Sample;
import java.util.List;
import org.junit.jupiter.api.Test;

class PaceTest {
    @Test
    void twoTimesAreReadFromBatchesOfDifferentSizes() {
        Pace pace =
                Pace.of(List.of(new Sample(0, 50_000), new Sample(100_000, 70_000), new Sample(1_000_000, 250_000)));
        assertThat(pace.nanosPerBatch()).isEqualTo(50_000, within(1.0));
        assertThat(pace.nanosPerByte()).isEqualTo(0.2, within(1e-6));
    }

    @Test
    void oneSizeAloneIsTakenToCostByItsBytes() {
        Pace pace = Pace.of(List.of(new Sample(1_000_000, 520_000)));
        assertThat(pace.nanosPerBatch()).isEqualTo(20_000, within(1.0));
        assertThat(pace.nanosPerByte()).isEqualTo(0.5, within(1e-6));
    }

    @Test
    void noiseMakesNoTimeNegative() {
        Pace shrinking = Pace.of(List.of(new Sample(4, 90_000), new Sample(4_000_000, 60_000)));
        assertThat(shrinking.nanosPerByte()).isZero();
        assertThat(shrinking.nanosPerBatch()).isEqualTo(75_000, within(1.0));
        Pace steep = Pace.of(List.of(new Sample(1_000, 1_000), new Sample(2_000, 900_000)));
        assertThat(steep.nanosPerBatch()).isGreaterThanOrEqualTo(20_000);
    }
}
