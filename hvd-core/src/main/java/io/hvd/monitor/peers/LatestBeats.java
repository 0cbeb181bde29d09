package io.hvd.monitor.peers;

import java.util.HashMap;
import java.util.Map;

/**
 * Tells which signs of life are new. Datagrams may overtake each other, and another process may send a rank's datagram
 * once more. One thread uses it.
 */
final class LatestBeats {
    private final Map<Integer, Long> numbers = new HashMap<>();

    /** Whether a sign of life is new, and remembers it if it is; each rank numbers its own signs of life. */
    boolean isNews(int rank, long number) {
        Long before = numbers.get(rank);
        if (before != null && before >= number) {
            return false;
        }
        numbers.put(rank, number);
        return true;
    }
}
