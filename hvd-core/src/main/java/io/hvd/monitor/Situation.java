package io.hvd.monitor;

import java.util.List;

/**
 * A job that hangs, as its reporter sees it.
 *
 * @param overdue waits that are too old, the most telling first
 * @param ranks all of them, in order
 * @param ras the answer of NCCL's RAS
 */
record Situation(int reporter, List<Wait> overdue, List<RankView> ranks, RasAnswer ras) {
    /** A situation without an answer of NCCL's RAS. */
    Situation(int reporter, List<Wait> overdue, List<RankView> ranks) {
        this(reporter, overdue, ranks, RasAnswer.NONE);
    }

    Situation {
        overdue = List.copyOf(overdue);
        ranks = List.copyOf(ranks);
    }

    String verdict() {
        String findings = ras.findings();
        return Verdict.of(overdue, ranks) + (findings.isEmpty() ? "" : " (NCCL's RAS says: " + findings + ")");
    }
}
