package io.hvd.transport.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;

/** Two clocks that are invented, of which one runs a little faster. */
class DeviceClockTest {
    private static final long MICRO = 1_000;
    private static final long SECOND = 1_000_000_000;

    private final DeviceClock clock = new DeviceClock();

    @Test
    void anEventIsPlacedBetweenTheLooksAroundIt() {
        clock.reached(7_000, 50_000, 60_000);
        assertThat(clock.hostNanos(7_000)).isEqualTo(55_000);
        assertThat(clock.hostNanos(8_000)).isEqualTo(56_000);
    }

    /** The first event is known within 10 ms only. */
    @Test
    void laterEventsAreKnownAsExactlyAsTheBestLookBefore() {
        clock.reached(0, 0, 10_000 * MICRO);
        clock.reached(1_000 * MICRO, 3_000 * MICRO, 3_004 * MICRO);
        clock.reached(2_000 * MICRO, 3_500 * MICRO, 9_000 * MICRO);
        assertThat(clock.hostNanos(2_000 * MICRO)).isBetween(4_000 * MICRO - 10_000, 4_004 * MICRO + 10_000);
    }

    @Test
    void aClockThatWasWrongByMoreThanClocksDriftIsBelievedAnew() {
        clock.reached(0, 100, 200);
        clock.reached(1_000, 5_000_000, 5_000_100);
        assertThat(clock.hostNanos(1_000)).isEqualTo(5_000_050);
    }

    /** 80 millionths are 8 ms after 100 seconds. */
    @Test
    void clocksThatDriftApartForMinutesAreFollowed() {
        Random random = new Random(5);
        for (long host = SECOND; host < 300 * SECOND; host += 10_000_000 + random.nextInt(10_000_000)) {
            long device = (long) (host * (1 + 80e-6)) - 12_345_678;
            long before = host - random.nextInt(40_000);
            clock.reached(device, before, host + random.nextInt(40_000));
            assertThat(Math.abs(clock.hostNanos(device) - host)).isLessThan(40_000);
        }
    }
}
