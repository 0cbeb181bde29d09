package io.hvd.monitor.hang;

import io.hvd.monitor.diagnosis.CollectiveWait;
import io.hvd.monitor.diagnosis.Standstill;
import io.hvd.monitor.diagnosis.Verdict;
import io.hvd.monitor.view.RankView;
import java.util.List;

/**
 * A job that hangs, as its reporter sees it.
 *
 * @param overdue waits that are too old, the most telling first
 * @param ranks all of them, in order
 * @param standstill whether all ranks wait for each other
 * @param ras the answer of NCCL's RAS
 */
public record HangSituation(
        int reporter, List<CollectiveWait> overdue, List<RankView> ranks, Standstill.Kind standstill, RasAnswer ras) {
    /** A situation without an answer of NCCL's RAS. */
    public HangSituation(int reporter, List<CollectiveWait> overdue, List<RankView> ranks) {
        this(reporter, overdue, ranks, Standstill.Kind.NONE, RasAnswer.NONE);
    }

    public HangSituation {
        overdue = List.copyOf(overdue);
        ranks = List.copyOf(ranks);
    }

    public String verdict() {
        String findings = ras.findings();
        String deadlock = standstill == Standstill.Kind.CERTAIN
                ? "; this is a deadlock, in which no thread of any rank can make the missing calls"
                : "";
        return Verdict.of(overdue, ranks)
                + deadlock
                + (findings.isEmpty() ? "" : " (NCCL's RAS says: " + findings + ")");
    }
}
