package io.hvd.control;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelector;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** By a clock and a selector of the test's own, so that what is waited is counted and not measured. */
class SelectorWaitTest {
    private static final long FOR_EVER = Long.MAX_VALUE;
    /** How late a message may be heard. */
    private static final long LATE_NANOS = 50_000;

    private final ManualClock clock = new ManualClock();
    private final CountedSelector selector = new CountedSelector();
    private final SelectorWait wait = new SelectorWait(selector, clock);

    /** Sleeps by the test's clock. */
    private final class CountedSelector extends AbstractSelector {
        final List<Long> sleeps = new ArrayList<>();
        int looks;
        boolean ready;
        boolean wakened;

        CountedSelector() {
            super(null);
        }

        @Override
        public int selectNow() {
            looks++;
            return select(0, false);
        }

        @Override
        public int select(long millis) {
            return select(millis, true);
        }

        @Override
        public int select() {
            return select(FOR_EVER, true);
        }

        private int select(long millis, boolean sleeps) {
            if (sleeps && !ready && !wakened) {
                this.sleeps.add(millis);
                clock.now += TimeUnit.MILLISECONDS.toNanos(millis);
            }
            wakened = false;
            return ready ? 1 : 0;
        }

        @Override
        public Selector wakeup() {
            wakened = true;
            return this;
        }

        @Override
        protected void implCloseSelector() {}

        @Override
        protected SelectionKey register(AbstractSelectableChannel channel, int operations, Object attachment) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Set<SelectionKey> keys() {
            return Set.of();
        }

        @Override
        public Set<SelectionKey> selectedKeys() {
            return Set.of();
        }
    }

    private long waited(long nanos) throws IOException {
        long begun = clock.now;
        wait.select(nanos);
        return clock.now - begun;
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 1_000, 20_000, 50_001, 200_000, 999_999})
    void whatIsLessThanAMillisecondIsWaitedToTheNanosecond(long nanos) throws IOException {
        assertThat(waited(nanos)).isEqualTo(nanos);
        assertThat(selector.sleeps).isEmpty();
        assertThat(selector.looks).isEqualTo(1 + (nanos + LATE_NANOS - 1) / LATE_NANOS);
    }

    /** A device's work is looked at 40 times in a millisecond, as {@code DeviceWait} asks, and not once. */
    @Test
    void whoLooksAgainEvery25MicrosecondsLooks40TimesInAMillisecond() throws IOException {
        long end = clock.now + 1_000_000;
        int looksAtTheDevice = 0;
        while (clock.now - end < 0) {
            wait.select(25_000);
            looksAtTheDevice++;
        }
        assertThat(looksAtTheDevice).isEqualTo(40);
    }

    @ParameterizedTest
    @ValueSource(longs = {1_000_000, 1_999_999, 5_500_000, 20_000_000, 3_600_000_000_000L})
    void aLongerWaitSleepsOnceAndNotTooLong(long nanos) throws IOException {
        assertThat(waited(nanos)).isBetween(nanos - 999_999, nanos);
        assertThat(selector.sleeps).hasSize(1);
        assertThat(clock.naps).isEmpty();
        assertThat(selector.looks).isZero();
    }

    @Test
    void aWaitWithoutLimitIsOneSleep() throws IOException {
        wait.select(FOR_EVER);
        assertThat(selector.sleeps).containsExactly(FOR_EVER);
        assertThat(clock.naps).isEmpty();
    }

    @Test
    void aMessageThatComesDuringANapIsHeardSoonAfter() throws IOException {
        clock.duringNap = () -> selector.ready = clock.naps.size() == 3;
        assertThat(waited(900_000)).isEqualTo(3 * LATE_NANOS);
    }

    @Test
    void aWakeUpEndsANap() throws IOException {
        clock.duringNap = wait::wakeUp;
        assertThat(waited(900_000)).isEqualTo(LATE_NANOS);
    }

    @ParameterizedTest
    @ValueSource(longs = {20_000, 900_000, 5_000_000, FOR_EVER})
    void aWakeUpBeforeEndsTheNextWaitAndNoOther(long nanos) throws IOException {
        wait.wakeUp();
        assertThat(waited(nanos)).isZero();
        assertThat(waited(20_000)).isEqualTo(20_000);
    }
}
