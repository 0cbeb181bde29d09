package io.hvd.monitor;

import java.util.HashMap;
import java.util.Map;

/**
 * Tells which signs of life are new: datagrams overtake each other, and another process may send again what a rank has
 * sent. One thread uses it.
 */
final class LatestBeats {
    private final Map<Integer, Long> numbers = new HashMap<>();

    /** Whether a sign of life is new, which it then remembers; each rank numbers its own. */
    boolean isNews(int rank, long number) {
        Long before = numbers.get(rank);
        if (before != null && before >= number) {
            return false;
        }
        numbers.put(rank, number);
        return true;
    }
}
