package io.hvd.benchmarks.rank;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.benchmarks.Samples;
import java.util.List;
import org.junit.jupiter.api.Test;

class AlternatingRoundsTest {
    private static final long[] SIZES = {16};

    private final PlaceInJob job = new PlaceInJob(1, 2);
    private final Floats floats = Floats.ofSizes(SIZES, job);
    private final Samples samples = new Samples();
    private final AlternatingRounds timing = new AlternatingRounds(floats, samples, job, 1);

    @Test
    void whatIsRightIsTimed() {
        timing.run(List.of(leaving(7, 9)), SIZES);

        assertThat(samples.of("scattered", 16)).hasSize(1);
    }

    @Test
    void whatIsTheOtherRanksIsNotTimed() {
        assertThatThrownBy(() -> timing.run(List.of(leaving(3, 5)), SIZES))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("scattered has computed 3.0 at element 0, expected 7.0");
        assertThat(samples.has("scattered")).isFalse();
    }

    private Contender leaving(float first, float second) {
        return Contender.direct(
                "scattered",
                Expected.PIECE_OF_SUM,
                count -> () -> floats.direct().putFloat(0, first).putFloat(Float.BYTES, second));
    }
}
