package io.hvd.monitor;

import java.util.Map;

/**
 * Chooses the rank that reports for all ranks: the lowest one that gives signs of life. A fixed rank could be the one
 * that is stuck.
 */
final class ReporterChoice {
    private ReporterChoice() {}

    /**
     * @param heardAgo milliseconds since each other rank's last sign of life, by rank; a rank that never gave one is
     *     not in it
     * @param silentMillis a rank that has been silent for longer is passed over
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
