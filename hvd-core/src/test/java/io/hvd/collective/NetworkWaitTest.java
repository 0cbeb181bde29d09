package io.hvd.collective;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NetworkWaitTest {
    /** Every look at the clock takes a microsecond. */
    private static final class Clock implements NetworkWait.Core {
        private long now = -7_000;
        private int yields;
        private long rested;

        @Override
        public long nanoTime() {
            return now += 1_000;
        }

        @Override
        public void giveWay() {
            yields++;
        }

        @Override
        public void rest(long nanos) {
            rested += nanos;
            now += nanos;
        }
    }

    private final Clock clock = new Clock();

    private void looks(NetworkWait wait, int many) {
        for (int i = 0; i < many; i++) {
            wait.pause();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void everyWaitBeginsWithFiftyMicrosecondsOfLooksAndThenRests(boolean spins) {
        NetworkWait wait = new NetworkWait(spins, clock);
        for (int again = 0; again < 2; again++) {
            clock.rested = 0;
            wait.begin();
            looks(wait, 50);
            assertThat(clock.rested).isZero();
            looks(wait, 2);
            assertThat(clock.rested).isEqualTo(2 * 20_000);
        }
    }

    @Test
    void onlyWhoSharesItsCoreGivesWayBetweenTheLooks() {
        NetworkWait alone = new NetworkWait(true, clock);
        alone.begin();
        looks(alone, 50);
        assertThat(clock.yields).isZero();

        NetworkWait crowded = new NetworkWait(false, clock);
        crowded.begin();
        looks(crowded, 50);
        assertThat(clock.yields).isEqualTo(50);
    }
}
