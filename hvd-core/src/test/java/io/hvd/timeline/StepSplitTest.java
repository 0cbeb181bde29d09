package io.hvd.timeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.timeline.StepSplit.Share;
import io.hvd.timeline.StepSplit.Step;
import io.hvd.timeline.TimelineEvent.Kind;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StepSplitTest {
    private static final long MS = 1_000_000;

    private static TimelineEvent called(String name, long ms) {
        return new TimelineEvent(Kind.SUBMITTED, ms * MS, ms * MS, 0, name, "allreduce", "float32[3]");
    }

    private static TimelineEvent waited(String name, long from, long to) {
        return new TimelineEvent(Kind.WAITED, from * MS, to * MS, 0, name, "", "main");
    }

    private static TimelineEvent step(long ms) {
        return TimelineEvent.at(Kind.STEP, ms * MS);
    }

    /** A step of 100 ms on three ranks, with one gradient; a rank computes for as long as is said, communication takes 10. */
    private static List<List<TimelineEvent>> steps(int count, long... compute) {
        long slowest = 0;
        for (long each : compute) {
            slowest = Math.max(slowest, each);
        }
        List<List<TimelineEvent>> ranks = new ArrayList<>();
        for (long own : compute) {
            List<TimelineEvent> events = new ArrayList<>(List.of(step(0)));
            for (long at = 0; at < count; at++) {
                long begin = at * (slowest + 10);
                events.add(called("gradient", begin + own));
                events.add(waited("gradient", begin + own, begin + slowest + 10));
                events.add(step(begin + slowest + 10));
            }
            ranks.add(events);
        }
        return ranks;
    }

    private static List<Step> split(List<List<TimelineEvent>> ranks) {
        StepSplit split = new StepSplit(ranks.size());
        List<Step> steps = new ArrayList<>();
        for (int rank = 0; rank < ranks.size(); rank++) {
            steps.addAll(split.add(rank, ranks.get(rank)));
        }
        steps.addAll(split.rest());
        return steps;
    }

    @Test
    void aStragglerOfKnownLatenessIsWhatTheOthersWaitFor() {
        List<Step> steps = split(steps(5, 20, 30, 90));

        assertThat(steps).hasSize(5).allSatisfy(step -> {
            assertThat(step.lateRank()).contains(2);
            assertThat(step.waitingByRank()).containsExactly(0, 0, (70 + 60) * MS);
            Share first = step.ranks().get(0);
            assertThat(first.nanos()).isEqualTo(100 * MS);
            assertThat(first.computeNanos()).isEqualTo(20 * MS);
            assertThat(first.exposedNanos()).isEqualTo(10 * MS);
            assertThat(first.waitingNanosFor(2)).isEqualTo(70 * MS);
            Share late = step.ranks().get(2);
            assertThat(late.computeNanos()).isEqualTo(90 * MS);
            assertThat(late.exposedNanos()).isEqualTo(10 * MS);
            assertThat(late.waitingNanos()).isZero();
        });
        assertThat(steps).extracting(Step::number).containsExactly(1, 2, 3, 4, 5);
    }

    @Test
    void ranksOfEqualSpeedHaveNoLateOneAmongThem() {
        assertThat(split(steps(3, 50, 51, 52)))
                .hasSize(3)
                .allSatisfy(step -> assertThat(step.lateRank()).isEmpty());
    }

    @Test
    void waitingThatComputingHidesIsNoWaiting() {
        // Rank 0 calls at 10 but computes on until 80; rank 1 calls at 60; communication ends at 85.
        List<Step> steps = split(List.of(
                List.of(step(0), called("gradient", 10), waited("gradient", 80, 85), step(100)),
                List.of(step(0), called("gradient", 60), waited("gradient", 80, 85), step(100))));

        Share first = steps.get(0).ranks().get(0);
        assertThat(first.waitingNanos()).isZero();
        assertThat(first.exposedNanos()).isEqualTo(5 * MS);
        assertThat(first.computeNanos()).isEqualTo(95 * MS);
    }

    @Test
    void everyTensorsLateRankIsChargedForItself() {
        List<Step> steps = split(List.of(
                List.of(step(0), called("a", 10), called("b", 10), waited("a", 10, 30), waited("b", 30, 50), step(60)),
                List.of(step(0), called("a", 28), called("b", 30), waited("a", 30, 31), waited("b", 31, 50), step(60)),
                List.of(
                        step(0),
                        called("a", 15),
                        called("b", 44),
                        waited("a", 44, 44),
                        waited("b", 44, 50),
                        step(60))));

        Share first = steps.get(0).ranks().get(0);
        assertThat(first.waitingNanosFor(1)).isEqualTo(18 * MS);
        assertThat(first.waitingNanosFor(2)).isEqualTo(14 * MS);
        assertThat(first.exposedNanos()).isEqualTo((2 + 6) * MS);
    }

    @Test
    void whatComesBeforeTheFirstMarkIsNoStep() {
        List<TimelineEvent> events =
                List.of(called("weights", 5), waited("weights", 5, 900), step(1000), called("g", 1001), step(1010));

        List<Step> steps = split(List.of(events, events));

        assertThat(steps).singleElement().satisfies(step -> {
            assertThat(step.meanNanos()).isEqualTo(10 * MS);
            assertThat(step.ranks().get(0).exposedNanos()).isZero();
        });
    }

    @Test
    void theOrderInWhichTheRanksEventsArriveChangesNothing() {
        List<List<TimelineEvent>> ranks = steps(4, 20, 30, 90);
        StepSplit split = new StepSplit(3);
        List<Step> steps = new ArrayList<>();
        for (int i = 0; i < ranks.get(0).size(); i++) {
            for (int rank = 2; rank >= 0; rank--) {
                steps.addAll(split.add(rank, ranks.get(rank).subList(i, i + 1)));
            }
        }

        assertThat(steps).extracting(step -> step.waitingByRank()[2]).containsOnly((70 + 60) * MS);
        assertThat(steps).hasSize(4);
    }

    @Test
    void aRankThatStopsMarkingStepsLeavesTheOthersTheirs() {
        List<List<TimelineEvent>> ranks = steps(3, 20, 30, 90);
        List<Step> steps = split(List.of(ranks.get(0), ranks.get(1).subList(0, 4), ranks.get(2)));

        assertThat(steps).extracting(step -> step.ranks().size()).containsExactly(3, 2, 2);
    }

    @Test
    void theSameNameInTwoProcessSetsIsTwoOperations() {
        TimelineEvent inSet = new TimelineEvent(Kind.SUBMITTED, 90 * MS, 90 * MS, 7, "gradient", "allreduce", "");
        List<Step> steps = split(List.of(
                List.of(step(0), called("gradient", 10), waited("gradient", 10, 50), step(100)),
                List.of(step(0), called("gradient", 12), inSet, step(100))));

        assertThat(steps.get(0).ranks().get(0).waitingNanosFor(1)).isEqualTo(2 * MS);
    }

    @Test
    void theVerdictNamesTheLateRankAndWhatItCosts() {
        StepSummary verdict = new StepSummary(3);
        split(steps(5, 20, 30, 90)).forEach(verdict::add);

        assertThat(verdict.lines())
                .containsExactly(
                        "5 steps on 3 ranks, 100.0 ms each; average times per step:",
                        "rank 0: 100.0 ms = 20.0 ms compute + 10.0 ms exposed communication + 70.0 ms waiting"
                                + " (for rank 2 70.0 ms)",
                        "rank 1: 100.0 ms = 30.0 ms compute + 10.0 ms exposed communication + 60.0 ms waiting"
                                + " (for rank 2 60.0 ms)",
                        "rank 2: 100.0 ms = 90.0 ms compute + 10.0 ms exposed communication + 0.0 ms waiting",
                        "rank 2 is late in 5 of 5 steps; then the others wait 65.0 ms for it, which is 65 % of all the"
                                + " time");
    }

    private static TimelineEvent paused(long from, long to) {
        return new TimelineEvent(Kind.PAUSED, from * MS, to * MS, 0, "", "Allocation Failure", "");
    }

    private static String lastLine(List<List<TimelineEvent>> ranks) {
        StepSummary verdict = new StepSummary(ranks.size());
        split(ranks).forEach(verdict::add);
        return verdict.lines().get(verdict.lines().size() - 1);
    }

    /** The pause of 60 ms is told after the call that it has delayed, as the JVM does. */
    @Test
    void pausesOfTheGarbageCollectorThatTheOthersWaitForAreNamed() {
        List<List<TimelineEvent>> ranks = steps(1, 20, 20, 90);
        ranks.get(2).add(2, paused(10, 70));

        assertThat(lastLine(ranks))
                .startsWith("rank 2 is late in 1 of 1 steps; then the others wait 70.0 ms for it")
                .endsWith("; 60.0 ms of these waits (86 %) are pauses of its garbage collector");
    }

    @Test
    void pausesThatAllRanksHaveAreNotWhatOneIsLateFor() {
        List<List<TimelineEvent>> ranks = steps(1, 70, 70, 90);
        ranks.forEach(events -> events.add(1, paused(10, 60)));

        assertThat(lastLine(ranks)).startsWith("rank 2 is late").doesNotContain("garbage");
    }

    @Test
    void aPauseBelongsToTheStepsInWhichItIs() {
        List<List<TimelineEvent>> ranks = steps(2, 20, 90);
        ranks.get(1).add(1, paused(80, 130));

        List<Step> steps = split(ranks);

        assertThat(steps.get(0).collectorNanos(1)).isEqualTo(20 * MS);
        assertThat(steps.get(1).collectorNanos(1)).isEqualTo(30 * MS);
    }

    /** The first report comes 7 ms after its pause, the second one 1 ms. */
    @Test
    void theQuickestReportOfAPauseSetsTheClock() {
        var events = new EventBuffer(false);
        var pauses = CollectorPauses.into(events);
        pauses.close();
        events.drain();

        pauses.reported(1_027 * MS, 10, 20, "System.gc()");
        pauses.reported(1_101 * MS, 90, 100, "System.gc()");

        assertThat(events.drain())
                .containsExactly(
                        new TimelineEvent(Kind.PAUSED, 1_017 * MS, 1_027 * MS, 0, "", "System.gc()", ""),
                        new TimelineEvent(Kind.PAUSED, 1_091 * MS, 1_101 * MS, 0, "", "System.gc()", ""));
    }

    @Test
    void theVerdictOfAnEvenJobSaysThatNobodyIsLate() {
        StepSummary verdict = new StepSummary(2);
        split(steps(2, 90, 90)).forEach(verdict::add);

        assertThat(verdict.lines()).last().asString().contains("no rank is late");
    }

    @Test
    void withoutStepsTheVerdictSaysWhatEndsOne() {
        assertThat(new StepSummary(4).lines())
                .singleElement()
                .asString()
                .contains("no training step", "DistributedOptimizer.step()", "markStep()");
    }

    @Test
    void aRankAloneNeverWaits() {
        StepSummary verdict = new StepSummary(1);
        split(steps(2, 90)).forEach(verdict::add);

        assertThat(verdict.lines())
                .contains("rank 0: 100.0 ms = 90.0 ms compute + 10.0 ms exposed communication + 0.0 ms waiting");
    }
}
