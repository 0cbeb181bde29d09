package io.hvd.monitor;

import static io.hvd.monitor.view.Views.call;
import static io.hvd.monitor.view.Views.elsewhere;
import static io.hvd.monitor.view.Views.silent;
import static io.hvd.monitor.view.Views.waits;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.monitor.diagnosis.CollectiveWait;
import io.hvd.monitor.hang.StallWarning;
import io.hvd.monitor.peers.Peers;
import io.hvd.monitor.view.Activity;
import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.PhaseView;
import io.hvd.monitor.view.ProcessState;
import io.hvd.monitor.view.RankView;
import io.hvd.monitor.view.Views;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class MonitorDecisionsTest {
    private static final MonitorSettings SETTINGS =
            new MonitorSettings(Duration.ofSeconds(60), Duration.ofSeconds(600), Path.of(""));

    @Test
    void theLowestRankThatGivesSignsOfLifeReports() {
        assertThat(ReporterChoice.choose(2, Map.of(0, 100L, 1, 200L, 3, 10L), 3000))
                .isZero();
        assertThat(ReporterChoice.choose(2, Map.of(0, 9000L, 1, 200L, 3, 10L), 3000))
                .isEqualTo(1);
        assertThat(ReporterChoice.choose(2, Map.of(3, 10L), 3000)).isEqualTo(2);
    }

    @Test
    void aWarningComesOncePerPeriodAndTheEndAtTheLimit() {
        StallWatch watch = new StallWatch(SETTINGS);
        assertThat(watch.isTimeToLook(0, 59_999)).isFalse();
        assertThat(watch.isTimeToLook(0, 60_000)).isTrue();
        assertThat(watch.decide(0, 60_000)).isEqualTo(StallWatch.Step.WARN);
        assertThat(watch.decide(30_000, 90_000)).isEqualTo(StallWatch.Step.NOTHING);
        assertThat(watch.decide(60_000, 120_000)).isEqualTo(StallWatch.Step.WARN);
        assertThat(watch.decide(540_000, 600_000)).isEqualTo(StallWatch.Step.END);
    }

    @Test
    void whatIsExcusedIsLookedAtAgainButNotAtEveryBeat() {
        StallWatch watch = new StallWatch(SETTINGS);
        assertThat(watch.decide(0, 0)).isEqualTo(StallWatch.Step.NOTHING);
        assertThat(watch.isTimeToLook(29_000, 89_000)).isFalse();
        assertThat(watch.isTimeToLook(30_000, 90_000)).isTrue();
    }

    @Test
    void zeroMeansNever() {
        StallWatch watch = new StallWatch(new MonitorSettings(Duration.ofSeconds(60), Duration.ZERO, Path.of("")));
        assertThat(watch.decide(0, Long.MAX_VALUE / 4)).isEqualTo(StallWatch.Step.WARN);
        StallWatch silent = new StallWatch(new MonitorSettings(Duration.ZERO, Duration.ZERO, Path.of("")));
        assertThat(silent.isTimeToLook(0, Long.MAX_VALUE / 4)).isFalse();
    }

    @Test
    void aWarningListsTheMissingRanksWithAtMostSixNamesEach() {
        CallView[] eight = java.util.stream.IntStream.range(0, 8)
                .mapToObj(i -> call("t" + i, 2000))
                .toArray(CallView[]::new);
        List<RankView> ranks = List.of(waits(0, eight), elsewhere(1, PhaseView.NONE), waits(2, eight), waits(3, eight));

        assertThat(StallWarning.text(CollectiveWait.of(ranks), ranks, Duration.ofSeconds(600)))
                .contains("have waited for 2.0 s")
                .contains("rank 1 [t0, t1, t2, t3, t4, t5, ...] (is at Loader.read(Loader.java:11)")
                .contains("Likely causes", "After 600 s the job is ended")
                .doesNotContain("t6", "rank 0 [", "\n");
    }

    @Test
    void aWarningNamesAProcessThatIsStoppedInsteadOfGuessing() {
        CallView called = call("t", 2000);
        List<RankView> ranks = List.of(waits(0, called), silent(1, ProcessState.STOPPED, 2100, called));

        assertThat(StallWarning.text(CollectiveWait.of(ranks), ranks, Duration.ofSeconds(600)))
                .contains("Note that rank 1 is stopped (process state T), process ", "was last heard of 2.1 s ago")
                .doesNotContain("No rank is missing", "Likely causes");
    }

    @Test
    void aStoppedProcessThatIsNoMemberIsNoCause() {
        CallView called = call("t", 2000);
        List<RankView> ranks = List.of(
                waits(0, called), elsewhere(1, PhaseView.NONE), silent(4711, ProcessState.STOPPED, 2100, called));

        assertThat(StallWarning.text(CollectiveWait.of(ranks.subList(0, 2)), ranks, Duration.ofSeconds(600)))
                .contains("rank 1 [t]", "Likely causes")
                .doesNotContain("4711");
    }

    @Test
    void phasesNestAndRunOverTheirBudget() {
        AtomicLong clock = new AtomicLong();
        Phases phases = new Phases(clock::get);
        Runnable outer = phases.enter("evaluation", Duration.ofSeconds(10));
        Runnable inner = phases.enter("checkpoint", Duration.ofSeconds(1));
        clock.set(2_000_000_000L);
        assertThat(phases.view()).isEqualTo(new PhaseView("checkpoint", -1000, CallView.NOT_YET));
        inner.run();
        assertThat(phases.view()).isEqualTo(new PhaseView("evaluation", 8000, 0));
        outer.run();
        outer.run();
        clock.set(2_500_000_000L);
        assertThat(phases.view()).isEqualTo(new PhaseView("", 0, 500));
    }

    @Test
    void aRankThatWaitsInCloseSaysSoOnce() {
        CloseNotice notice = new CloseNotice(Views.member(1));
        Activity early = waits(1, call(CallView.CLOSE, "x", 4000)).activity();
        Activity late = waits(1, call(CallView.CLOSE, "x", 5100)).activity();
        Map<Integer, Peers.Heard> heard = Map.of(3, new Peers.Heard(late, System.nanoTime()));

        assertThat(notice.textIfDue(early, heard)).isEmpty();
        assertThat(notice.textIfDue(late, heard))
                .hasValueSatisfying(text -> assertThat(text)
                        .contains("rank 1 on node1", "5.1 s", "ranks {0, 2}", "because of an exception"));
        assertThat(notice.textIfDue(late, heard)).isEmpty();
    }
}
