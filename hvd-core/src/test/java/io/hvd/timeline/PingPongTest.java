package io.hvd.timeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PingPongTest {
    /** The answering rank's clock is ahead by {@code offset}; answering takes 30. */
    private static PingPong exchange(long sent, long offset, long there, long back) {
        long heard = sent + there + offset;
        return new PingPong(sent, heard, heard + 30, sent + there + 30 + back);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, -1, 777, 5_000_000_000L, -8_000_000_000_000_000L})
    void theOffsetIsExactWhenBothWaysTakeEquallyLong(long offset) {
        assertThat(exchange(123, offset, 40, 40).offset()).isEqualTo(offset);
    }

    @Test
    void theRoundTripIsWithoutTheTimeThatAnsweringTook() {
        assertThat(exchange(-5, 1_000_000, 40, 60).roundTrip()).isEqualTo(100);
    }

    @Test
    void theErrorIsAtMostHalfOfTheRoundTrip() {
        PingPong lopsided = exchange(9, 1000, 100, 0);

        assertThat(lopsided.offset()).isCloseTo(1000, within(lopsided.roundTrip() / 2));
        assertThat(lopsided.offset()).isNotEqualTo(1000);
    }

    @Test
    void theExchangeThatWasLeastHeldUpCounts() {
        List<PingPong> exchanges =
                List.of(exchange(0, 1000, 500, 20), exchange(2000, 1000, 20, 20), exchange(4000, 1000, 20, 9000));

        assertThat(PingPong.offset(exchanges)).isEqualTo(1000);
    }

    @Test
    void ranksThatMayReadOneClockDoSoHoweverLateABusyMachineLetsThem() {
        assertThat(PingPong.offset(List.of(exchange(0, 0, 90_000, 20), exchange(200_000, 0, 0, 50_000))))
                .isZero();
        assertThat(PingPong.offset(List.of(exchange(0, 300, 90_000, 20), exchange(200_000, 300, 0, 50_000))))
                .as("an answer that has arrived before it was sent")
                .isNotZero();
    }

    @Test
    void aClockThatHasOverflownIsAnOrdinaryClock() {
        assertThat(exchange(Long.MAX_VALUE - 50, 77, 40, 40).offset()).isEqualTo(77);
    }
}
