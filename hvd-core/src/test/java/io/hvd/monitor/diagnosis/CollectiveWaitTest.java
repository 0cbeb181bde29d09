package io.hvd.monitor.diagnosis;

import static io.hvd.monitor.view.Views.begun;
import static io.hvd.monitor.view.Views.call;
import static io.hvd.monitor.view.Views.elsewhere;
import static io.hvd.monitor.view.Views.ended;
import static io.hvd.monitor.view.Views.silent;
import static io.hvd.monitor.view.Views.waits;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.PhaseView;
import io.hvd.monitor.view.ProcessState;
import io.hvd.monitor.view.RankView;
import io.hvd.trace.Call;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class CollectiveWaitTest {
    @Test
    void aMemberWithoutAPendingCallOfThatKindAndNameIsMissing() {
        List<CollectiveWait> waits = CollectiveWait.of(List.of(
                waits(0, call("b", 3000)),
                waits(1, call("c", 2000)),
                waits(2, call("b", 2500)),
                elsewhere(3, PhaseView.NONE)));

        assertThat(waits).extracting(wait -> wait.key().name()).containsExactly("b", "c");
        assertThat(waits.get(0).missing()).containsExactly(1, 3);
        assertThat(waits.get(0).waiting()).containsOnlyKeys(0, 2);
        assertThat(waits.get(0).millis()).isEqualTo(3000);
        assertThat(waits.get(1).missing()).containsExactly(0, 2, 3);
    }

    @Test
    void theSameNameWithAnotherKindOrInAnotherProcessSetIsAnotherCall() {
        CallView.Key inSet = new CallView.Key(3, "allreduce", "x");
        List<CollectiveWait> waits = CollectiveWait.of(List.of(
                waits(0, call("allreduce", "x", 10)),
                waits(1, call("broadcast", "x", 20)),
                waits(2, call(inSet, List.of(2, 3), 30, CallView.NOT_YET)),
                elsewhere(3, PhaseView.NONE)));

        assertThat(waits).hasSize(3);
        assertThat(waits.get(0).key()).isEqualTo(inSet);
        assertThat(waits.get(0).missing()).containsExactly(3);
        assertThat(waits.get(1).missing()).containsExactly(0, 2, 3);
    }

    @Test
    void nobodyIsMissingOnceTheDataPlaneHasBegun() {
        List<CollectiveWait> waits = CollectiveWait.of(List.of(
                waits(0, begun("x", 3000, 2900)),
                waits(1, begun("x", 3100, 2900)),
                waits(2, begun("x", 3200, 2900)),
                waits(3, call("y", 2800))));

        assertThat(waits.get(0).key().name()).isEqualTo("x");
        assertThat(waits.get(0).missing()).isEmpty();
    }

    @Test
    void theWaitForAllThatHaveComeCountsFromTheLastOne() {
        List<CollectiveWait> waits = CollectiveWait.of(List.of(
                waits(0, call("x", 9000)),
                waits(1, call("x", 9000)),
                waits(2, call("x", 9000)),
                waits(3, call("x", 100))));

        assertThat(waits.get(0).millis()).isEqualTo(100);
        assertThat(waits.get(0).oldestMillis()).isEqualTo(9000);
    }

    @Test
    void aPhaseExcusesItsRankAndNobodyElse() {
        PhaseView evaluation = new PhaseView("evaluation", 5000, CallView.NOT_YET);
        RankView waiting = waits(0, call("x", 3000));

        assertThat(CollectiveWait.of(List.of(
                                waiting,
                                elsewhere(1, evaluation),
                                waits(2, call("x", 3000)),
                                waits(3, call("x", 3000))))
                        .get(0)
                        .millis())
                .isZero();
        assertThat(CollectiveWait.of(List.of(
                                waiting,
                                elsewhere(1, evaluation),
                                elsewhere(2, PhaseView.NONE),
                                waits(3, call("x", 3000))))
                        .get(0)
                        .millis())
                .isEqualTo(3000);
    }

    /** What keeps them may be a communication thread that waits for the one in its phase. */
    @Test
    void aPhaseExcusesWhatNobodyIsMissingInToo() {
        PhaseView evaluation = new PhaseView("evaluation", 5000, CallView.NOT_YET);
        PhaseView justEnded = new PhaseView("", 0, 400);
        CallView transfer =
                call(new CallView.Key(0, "transfer", "rank 0 to rank 1, tag 7"), List.of(0, 1), 9000, CallView.NOT_YET);
        RankView[] inTransfer = {waits(0, transfer), waits(1, transfer)};

        assertThat(millis(inTransfer[0], inTransfer[1], elsewhere(2, evaluation)))
                .isZero();
        assertThat(millis(inTransfer[0], inTransfer[1], elsewhere(2, justEnded)))
                .isEqualTo(400);
        assertThat(millis(inTransfer[0], inTransfer[1], elsewhere(2, PhaseView.NONE)))
                .isEqualTo(9000);
    }

    @Test
    void whoWaitsForARankInItsPhaseIsExcusedTooWhicheverOfItsThreadsWaits() {
        PhaseView evaluation = new PhaseView("evaluation", 5000, CallView.NOT_YET);
        CallView pair = call(new CallView.Key(1, "allreduce", "pair"), List.of(1, 2), 3000, CallView.NOT_YET);
        RankView waiting = waits(0, call("x", 3000));
        RankView alike = waits(3, call("x", 3000));

        assertThat(millis(waiting, alike, waits(1, pair), elsewhere(2, evaluation)))
                .isZero();
        assertThat(millis(waiting, alike, elsewhere(1, PhaseView.NONE, pair), elsewhere(2, evaluation)))
                .isZero();
        assertThat(millis(waiting, alike, elsewhere(1, PhaseView.NONE), elsewhere(2, evaluation)))
                .isEqualTo(3000);
        assertThat(millis(waiting, alike, waits(1, pair), elsewhere(2, PhaseView.NONE)))
                .isEqualTo(3000);
    }

    @Test
    void ranksThatWaitForEachOtherInACircleExcuseNobody() {
        CallView one = call(new CallView.Key(1, "allreduce", "one"), List.of(1, 2), 3000, CallView.NOT_YET);
        CallView other = call(new CallView.Key(2, "allreduce", "other"), List.of(1, 2), 3000, CallView.NOT_YET);

        assertThat(CollectiveWait.of(List.of(elsewhere(0, PhaseView.NONE), waits(1, one), waits(2, other))))
                .extracting(CollectiveWait::millis)
                .containsExactly(3000L, 3000L);
    }

    /** How long the first one has waited without an excuse. */
    private static long millis(RankView first, RankView... others) {
        List<RankView> ranks = new ArrayList<>(List.of(others));
        ranks.add(0, first);
        CallView.Key key = first.activity().pending().get(0).key();
        return CollectiveWait.of(ranks).stream()
                .filter(wait -> wait.key().equals(key))
                .findFirst()
                .orElseThrow()
                .millis();
    }

    @Test
    void afterAPhaseTheWaitCountsFromItsEndAndOverBudgetFromItsBeginning() {
        assertThat(new PhaseView("", 0, 400).unexcused(3000)).isEqualTo(400);
        assertThat(new PhaseView("evaluation", -1, CallView.NOT_YET).unexcused(3000))
                .isEqualTo(3000);
    }

    @Test
    void whatASilentRankPublishedBeforeTheOthersCalledIsAnEarlierCall() {
        RankView early = silent(1, ProcessState.SILENT, 3100, call("x", 3300));
        RankView late = silent(1, ProcessState.SILENT, 2000, call("x", 3300));

        assertThat(missing(early)).containsExactly(1);
        assertThat(missing(late)).isEmpty();
    }

    @Test
    void aSilentRankAloneWaitsForNothing() {
        assertThat(CollectiveWait.of(List.of(
                        elsewhere(0, PhaseView.NONE, ended("x", 50)),
                        silent(1, ProcessState.STOPPED, 100, call("x", 200)))))
                .isEmpty();
    }

    @Test
    void aRankThatHasJoinedIsNotMissingInItsProcessSet() {
        List<CollectiveWait> waits = CollectiveWait.of(List.of(
                waits(0, call("x", 3000)),
                waits(1, call("join", "join.noname", 9000)),
                waits(2, call("x", 2000)),
                elsewhere(3, PhaseView.NONE, ended("w", 4000))));

        assertThat(waits.get(0).key().name()).isEqualTo("x");
        assertThat(waits.get(0).missing()).containsExactly(3);
        CallView.Key ofSet = new CallView.Key(1, "allreduce", "y");
        assertThat(CollectiveWait.of(List.of(
                                waits(0, call(ofSet, List.of(0, 1), 10, CallView.NOT_YET)),
                                waits(1, call("join", "join.noname", 9000))))
                        .stream()
                        .filter(wait -> wait.key().equals(ofSet))
                        .findFirst()
                        .orElseThrow()
                        .missing())
                .as("a join of all ranks does not take part for a smaller set")
                .containsExactly(1);
    }

    @Test
    void whoHasJoinedOrClosedWaitsPatientlyAsLongAsTheOthersGetOn() {
        for (String last : List.of("join", "close")) {
            RankView done = waits(0, call(last, "end", 9000));
            RankView busy = elsewhere(1, PhaseView.NONE, ended("x", 700));
            RankView busyToo = waits(2, call("x", 300));
            assertThat(endOf(last, done, busy, busyToo, elsewhere(3, PhaseView.NONE, ended("x", 500))))
                    .as(last)
                    .isEqualTo(700);
            assertThat(endOf(last, done, busy, busyToo, elsewhere(3, PhaseView.NONE)))
                    .as("%s, and one has never called anything", last)
                    .isEqualTo(9000);
        }
    }

    private static long endOf(String kind, RankView... ranks) {
        return CollectiveWait.of(List.of(ranks)).stream()
                .filter(wait -> wait.key().kind().equals(kind))
                .findFirst()
                .orElseThrow()
                .millis();
    }

    @Test
    void aSendWaitsForTheReceiveOfTheOtherRank() {
        Call.Operation send = new Call.Operation("send", "rank 0 to rank 1, tag 7", "", 0, List.of(0, 1));
        Call.Operation receive = new Call.Operation("receive", send.name(), "", 0, List.of(0, 1));

        assertThat(CallView.Key.of(send))
                .isEqualTo(CallView.Key.of(receive))
                .hasToString("transfer \"" + send.name() + "\"");
    }

    private static Iterable<Integer> missing(RankView silent) {
        return CollectiveWait.of(List.of(
                        waits(0, call("x", 3000)), silent, waits(2, call("x", 3000)), waits(3, call("x", 3000))))
                .get(0)
                .missing();
    }
}
