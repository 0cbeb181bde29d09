package io.hvd.monitor;

import java.util.List;

/**
 * A job that hangs, as its reporter sees it.
 *
 * @param overdue waits that are too old, the most telling first
 * @param ranks all of them, in order
 */
record Situation(int reporter, List<Wait> overdue, List<RankView> ranks) {
    Situation {
        overdue = List.copyOf(overdue);
        ranks = List.copyOf(ranks);
    }

    String verdict() {
        return Verdict.of(overdue, ranks);
    }
}
