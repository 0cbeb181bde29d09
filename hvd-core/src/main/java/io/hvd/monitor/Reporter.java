package io.hvd.monitor;

import java.util.Map;

/** Chooses who speaks for all: the lowest rank that gives signs of life. There is no fixed centre that could be the one stuck. */
final class Reporter {
    private Reporter() {}

    /**
     * @param heardAgo milliseconds since each other rank was heard, by rank; who was never heard is not in it
     * @param silentMillis who has been silent for longer is passed over
     */
    static int choose(int self, Map<Integer, Long> heardAgo, long silentMillis) {
        return heardAgo.entrySet().stream()
                .filter(entry -> entry.getValue() <= silentMillis)
                .mapToInt(Map.Entry::getKey)
                .filter(rank -> rank < self)
                .min()
                .orElse(self);
    }
}
