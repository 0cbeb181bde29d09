package io.hvd.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class SpreadTest {
    @Test
    void theMedianIsTheMiddleOneOrHalfWayBetweenTheTwo() {
        assertThat(Spread.of(List.of(9.0, 1.0, 2.0)).median()).isEqualTo(2);
        assertThat(Spread.of(List.of(9.0, 1.0, 2.0, 4.0)).median()).isEqualTo(3);
        assertThat(Spread.of(List.of(7.0))).isEqualTo(new Spread(1, 7, 7, 7, 7));
    }

    @Test
    void nineInTenLieBetweenLowAndHigh() {
        List<Double> timings = IntStream.rangeClosed(0, 100)
                .mapToObj(i -> (double) (i * 37 % 101))
                .toList();

        Spread spread = Spread.of(timings);

        assertThat(spread.low()).isCloseTo(5, within(1e-9));
        assertThat(spread.high()).isCloseTo(95, within(1e-9));
        assertThat(spread.min()).isZero();
        assertThat(spread.count()).isEqualTo(101);
    }

    @Test
    void tenTimingsAreInterpolated() {
        List<Double> timings = IntStream.range(0, 10).mapToObj(i -> 10.0 * i).toList();

        assertThat(Spread.of(timings).low()).isCloseTo(4.5, within(1e-9));
        assertThat(Spread.of(timings).high()).isCloseTo(85.5, within(1e-9));
    }

    @Test
    void noTimingIsAMistake() {
        assertThatThrownBy(() -> Spread.of(List.of())).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void ratiosAreMadePairByPair() {
        Spread ratios = Spread.ofRatios(List.of(1.0, 2.0, 4.0), List.of(3.0, 2.0, 8.0));

        assertThat(ratios.median()).isEqualTo(2);
        assertThat(ratios.min()).isEqualTo(1);
        assertThatThrownBy(() -> Spread.ofRatios(List.of(1.0), List.of(1.0, 2.0)))
                .hasMessageContaining("1 and 2 timings");
    }
}
