package io.hvd.timeline;

import java.util.Comparator;
import java.util.List;

/**
 * One question for the time and its answer, from which two clocks can be compared (D. L. Mills, RFC
 * 5905, section 8). The four times are those of {@link System#nanoTime()} on the rank where they were
 * taken; its zero may be anywhere.
 *
 * @param sent when the question was sent, by the clock of the asking rank
 * @param heard when the question arrived, by the clock of the answering rank
 * @param answered when the answer was sent, by the clock of the answering rank
 * @param received when the answer arrived, by the clock of the asking rank
 */
record PingPong(long sent, long heard, long answered, long received) {
    /** The time to add to the asking rank's time, in nanoseconds; it is wrong by at most half of {@link #roundTrip}. */
    long offset() {
        long there = heard - sent;
        long back = answered - received;
        return there + (back - there) / 2;
    }

    /** The time on the way in both directions together, in nanoseconds. */
    long roundTrip() {
        return (received - sent) - (answered - heard);
    }

    /** Whether both may have read one clock: by it nothing has arrived before it was sent. */
    private boolean mayBeOfOneClock() {
        return heard - sent >= 0 && received - answered >= 0;
    }

    /**
     * The offset from the exchange with the shortest round trip, or 0 if all exchanges may be of one clock. The ranks of one
     * host have one, and their offset is then exact however late a busy machine lets them read; clocks of two hosts differ by
     * more than a round trip, unless both hosts were started at the same moment.
     */
    static long offset(List<PingPong> exchanges) {
        if (exchanges.stream().allMatch(PingPong::mayBeOfOneClock)) {
            return 0;
        }
        return exchanges.stream()
                .min(Comparator.comparingLong(PingPong::roundTrip))
                .orElseThrow()
                .offset();
    }
}
