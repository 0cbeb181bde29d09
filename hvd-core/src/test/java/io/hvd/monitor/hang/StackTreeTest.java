package io.hvd.monitor.hang;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.monitor.view.LiveReport;
import io.hvd.monitor.view.RankView;
import io.hvd.monitor.view.StackView;
import io.hvd.monitor.view.Views;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class StackTreeTest {
    @Test
    void theStacksOfAllRanksAreOneTreeThatSaysWhereRanksPart() {
        String inside = "io.hvd.Handle.synchronize(Handle.java:1)";
        String outside = "java.base@17/java.lang.Thread.run(Thread.java:840)";
        List<RankView> views = List.of(
                stack(0, inside, "app//Train.step(Train.java:7)", "app//Train$$Lambda$7/0x01.run(Unknown)", outside),
                stack(1, inside, "Train.evaluate(Train.java:9)", "Train$$Lambda$9/0x02.run(Unknown)", outside),
                stack(2, inside, "Train.step(Train.java:7)", "Train$$Lambda/0x03.run(Unknown)", outside));
        assertThat(StackTree.inFull(views))
                .containsExactly(
                        "java.lang.Thread.run(Thread.java:840)  [ranks {0, 1, 2} here]",
                        "Train$$Lambda.run(Unknown)",
                        "  Train.step(Train.java:7)  [ranks {0, 2} here | rank 1 not here]",
                        "  io.hvd.Handle.synchronize(Handle.java:1)",
                        "  Train.evaluate(Train.java:9)  [rank 1 here | ranks {0, 2} not here]",
                        "  io.hvd.Handle.synchronize(Handle.java:1)");
        assertThat(StackTree.ofTheProgram(views))
                .containsExactly(
                        "Train.step(Train.java:7)  [ranks {0, 2} here | rank 1 not here]",
                        "Train.evaluate(Train.java:9)  [rank 1 here | ranks {0, 2} not here]");
    }

    private static RankView stack(int rank, String... frames) {
        RankView view = Views.waits(rank);
        LiveReport live = view.live().orElseThrow();
        String text = String.join(
                "",
                List.of(frames).stream().map(frame -> "    at " + frame + "\n").toList());
        StackView stack = new StackView("main", "WAITING", frames[1], true, text);
        LiveReport changed = new LiveReport(
                live.activity(), stack, live.communication(), live.stillness(), live.others(), live.machine());
        return new RankView(view.member(), view.state(), view.activity(), 0, Optional.of(changed));
    }
}
