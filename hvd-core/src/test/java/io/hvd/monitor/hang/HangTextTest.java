package io.hvd.monitor.hang;

import static io.hvd.monitor.view.Views.call;
import static io.hvd.monitor.view.Views.elsewhere;
import static io.hvd.monitor.view.Views.ended;
import static io.hvd.monitor.view.Views.waits;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.monitor.diagnosis.CollectiveWait;
import io.hvd.monitor.diagnosis.Standstill;
import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.PhaseView;
import io.hvd.monitor.view.RankView;
import java.util.List;
import org.junit.jupiter.api.Test;

class HangTextTest {
    private static final CallView LONG = call("b", 3100);

    @Test
    void theSummaryIsAScreenfulAndTheFileHasTheStacks() {
        List<RankView> ranks =
                List.of(waits(0, LONG), elsewhere(1, PhaseView.NONE, ended("a", 4000)), waits(2, LONG), waits(3, LONG));
        HangSituation situation = new HangSituation(0, CollectiveWait.of(ranks), ranks);

        assertThat(HangText.summary(situation, "/reports/hang.txt"))
                .startsWith("hvd: HANG: rank 1 has not called")
                .contains("rank 1 on node1, pid 1001: thread \"main\" WAITING at Loader.read(Loader.java:11)")
                .contains("/reports/hang.txt")
                .satisfies(text -> assertThat(text.lines().count()).isLessThanOrEqualTo(30));
        assertThat(HangText.inFull(situation, "noon"))
                .contains("    at Loader.read(Loader.java:11)\n", "1. allreduce \"a\" float32 [3]", "heap", "others");
    }

    @Test
    void whatNcclsRasSaysIsQuotedInTheSummaryAndStandsInFullInTheFile() {
        List<RankView> ranks = List.of(waits(0, LONG), waits(1, LONG));
        List<String> said = List.of("Job summary", "Errors", "  INCOMPLETE", "  Missing 1 process");
        HangSituation situation = new HangSituation(
                0,
                CollectiveWait.of(ranks),
                ranks,
                Standstill.Kind.NONE,
                new RasAnswer("localhost:28028", said, false));

        assertThat(HangText.summary(situation, "/reports/hang.txt"))
                .contains("(NCCL's RAS says: INCOMPLETE; Missing 1 process)\n")
                .contains("hvd: NCCL's RAS at localhost:28028 says:\nhvd:   Errors\nhvd:   INCOMPLETE\n")
                .doesNotContain("Job summary");
        assertThat(HangText.inFull(situation, "noon"))
                .contains("==== NCCL's RAS at localhost:28028\n  Job summary\n  Errors\n    INCOMPLETE\n")
                .endsWith("  ... cut off\n");
    }
}
