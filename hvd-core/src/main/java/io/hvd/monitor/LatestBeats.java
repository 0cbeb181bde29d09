package io.hvd.monitor;

import java.util.HashMap;
import java.util.Map;

/**
 * Which signs of life are news: datagrams overtake each other, and somebody may send again what a rank has sent. One
 * thread.
 */
final class LatestBeats {
    private final Map<Integer, Long> numbers = new HashMap<>();

    /** Notes it if it is; each rank numbers its own. */
    boolean isNews(int rank, long number) {
        Long before = numbers.get(rank);
        if (before != null && before >= number) {
            return false;
        }
        numbers.put(rank, number);
        return true;
    }
}
