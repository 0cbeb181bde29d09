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
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class VerdictTest {
    private static final CallView LONG = call("b", 3100);

    @Test
    void aRankInItsOwnCodeIsNamedWithTheCallTheLineAndTheTime() {
        assertThat(verdict(
                        waits(0, LONG), elsewhere(1, PhaseView.NONE, ended("a", 4000)), waits(2, LONG), waits(3, LONG)))
                .startsWith("rank 1 has not called allreduce \"b\": it is at Loader.read(Loader.java:11)")
                .contains("its last collective, allreduce \"a\", ended 4.0 s ago")
                .contains("ranks {0, 2, 3} have waited in allreduce \"b\" for 3.1 s")
                .contains("Train.b(Train.java:42)");
    }

    @Test
    void aRankInAnotherBranchIsNamedWithBothCallsAndBothLines() {
        assertThat(verdict(waits(0, LONG), waits(1, LONG), waits(2, call("broadcast", "w", 2900)), waits(3, LONG)))
                .startsWith("rank 2 has not called allreduce \"b\": it waits in broadcast \"w\"")
                .contains("called at Train.w(Train.java:42), 2.9 s ago")
                .contains("called at Train.b(Train.java:42)");
    }

    @Test
    void whatARankHasOnlyStartedIsNotWhatItWaitsIn() {
        RankView busy = elsewhere(1, PhaseView.NONE, call("c", 3000));

        assertThat(verdict(waits(0, LONG), busy, waits(2, LONG), waits(3, LONG)))
                .contains("it is at Loader.read(Loader.java:11)", "allreduce \"c\", has been under way for 3.0 s");
    }

    @ParameterizedTest
    @EnumSource(names = {"STOPPED", "ZOMBIE", "GONE"})
    void aProcessThatStandsStillComesFirst(ProcessState state) {
        assertThat(verdict(waits(0, LONG), silent(1, state, 3200, ended("a", 3300)), waits(2, LONG), waits(3, LONG)))
                .startsWith("rank 1 " + state.words() + ", process 1001 on node1")
                .contains("last heard of 3.2 s ago", "allreduce \"a\", was made at Train.step(Train.java:7)")
                .contains("ranks {0, 2, 3} have waited in allreduce \"b\"");
    }

    @Test
    void aSilentRankOnADeadHostIsSaidToBeUnknown() {
        assertThat(verdict(
                        waits(0, LONG),
                        waits(1, LONG),
                        waits(2, LONG),
                        silent(3, ProcessState.UNKNOWN, CallView.NOT_YET)))
                .startsWith("rank 3 has not called allreduce \"b\": it does not answer, and no rank on its host")
                .contains("was never heard of");
    }

    @Test
    void severalMissingRanksAreNamedEachWithItsPlace() {
        assertThat(verdict(waits(0, LONG), elsewhere(1, PhaseView.NONE), waits(2, LONG), elsewhere(3, PhaseView.NONE)))
                .startsWith("ranks {1, 3} have not called allreduce \"b\": rank 1 is at Loader.read(Loader.java:11)")
                .contains("rank 3 is at Loader.read(Loader.java:13)", "has called no collective so far");
    }

    @Test
    void whenAllAreInsideTheNetworkOrTheBackEndIsStuck() {
        CallView inside = begun("b", 3100, 3000);

        assertThat(verdict(waits(0, inside), waits(1, inside), waits(2, inside), waits(3, inside)))
                .startsWith(
                        "every rank is alive and none is missing: all ranks have called allreduce \"b\" (at Train.b(Train.java:42)), and all are inside it for 3.0 s")
                .contains("the network or the back end is stuck", "MpiCollectives.allReduce(native)");
    }

    @Test
    void whenSomeHaveComeBackTheOthersAreNamed() {
        assertThat(verdict(
                        waits(0, call("c", 3000)),
                        waits(1, begun("b", 3100, 3000)),
                        waits(2, call("c", 3000)),
                        waits(3, call("c", 3000))))
                .contains("rank 1 still inside it, while ranks {0, 2, 3} have come back");
    }

    @Test
    void aRankThatHasNotBegunIsToldFromThoseInside() {
        assertThat(verdict(
                        waits(0, begun("b", 3100, 3000)),
                        waits(1, call("b", 3100)),
                        waits(2, begun("b", 3100, 3000)),
                        waits(3, begun("b", 3100, 3000))))
                .contains("rank 1 has not begun to carry it out, while ranks {0, 2, 3} have been inside it for 3.0 s")
                .contains("the communication thread of rank 1 is at");
    }

    @Test
    void allHaveCalledAndNobodyBegins() {
        assertThat(verdict(waits(0, LONG), waits(1, LONG), waits(2, LONG), waits(3, LONG)))
                .contains("no rank has begun to carry it out for 3.1 s", "communication thread of rank 0");
    }

    @Test
    void aPhaseOverItsBudgetIsSaidToBe() {
        PhaseView evaluation = new PhaseView("evaluation", -2000, CallView.NOT_YET);

        assertThat(verdict(elsewhere(0, evaluation), waits(1, LONG), waits(2, LONG), waits(3, LONG)))
                .startsWith(
                        "rank 0 has not called allreduce \"b\": it is in phase \"evaluation\", 2.0 s over its budget")
                .contains("Loader.read(Loader.java:10)");
    }

    private static String verdict(RankView... ranks) {
        return Verdict.of(CollectiveWait.of(List.of(ranks)), List.of(ranks));
    }
}
