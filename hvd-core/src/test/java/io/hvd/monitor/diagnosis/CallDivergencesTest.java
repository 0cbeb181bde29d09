package io.hvd.monitor.diagnosis;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.PhaseView;
import io.hvd.monitor.view.ProcessState;
import io.hvd.monitor.view.RankView;
import io.hvd.monitor.view.Views;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Made-up sequences of calls. A word is one call: {@code a:7} is named and made in line 7, {@code :7} has no name, and
 * {@code !} marks a call that is pending. A word that begins with {@code -} is a call that is no longer remembered.
 */
class CallDivergencesTest {
    private static final String STEP = "a:1 b:2 c:3 ";

    @Test
    void aCallThatOneOfFourRanksLeavesOutIsNamed() {
        String others = STEP + STEP + "a:1 b:2!";

        assertThat(verdict(others, STEP + STEP + "a:1 c:3!", others, others))
                .startsWith(
                        "the ranks made the same calls up to call 7 of rank 0; then rank 1 left out allreduce \"b\","
                                + " which ranks {0, 2, 3} called at Trainer.step(Trainer.java:2), and went on to allreduce"
                                + " \"c\" at Trainer.step(Trainer.java:3); ranks {0, 2, 3} have waited in allreduce \"b\"");
    }

    /** Each of two ranks waits for the other; the steps before show which one has left the way. */
    @Test
    void ofTwoRanksTheOneIsNamedThatDoesNotDoWhatBothDidBefore() {
        String leftOut = "then rank %d left out allreduce \"b\", which rank %d called at Trainer.step(Trainer.java:2)";

        assertThat(verdict(STEP + "a:1 b:2!", STEP + "a:1 c:3!")).contains(String.format(Locale.ROOT, leftOut, 1, 0));
        assertThat(verdict(STEP + "a:1 c:3!", STEP + "a:1 b:2!")).contains(String.format(Locale.ROOT, leftOut, 0, 1));
    }

    @Test
    void twoRanksWithoutStepsBeforeAreBothNamedAndNeitherIsBlamed() {
        assertThat(verdict("x:9 a:1!", "x:9 b:2!"))
                .contains("up to call 1 of rank 0; then rank 0 called allreduce \"a\" at Trainer.step(Trainer.java:1),"
                        + " and rank 1 called allreduce \"b\" at Trainer.step(Trainer.java:2)")
                .doesNotContain("left out");
    }

    @Test
    void anAdditionalCallIsSetAgainstWhatTheOthersCalled() {
        assertThat(verdict(STEP + "a:1 b:2!", STEP + "a:1 x:8!"))
                .contains("then rank 1 called allreduce \"x\" at Trainer.step(Trainer.java:8), where rank 0 called"
                        + " allreduce \"b\" at Trainer.step(Trainer.java:2)");
        assertThat(verdict(STEP + "a:1 x:8!", STEP + "a:1 b:2!"))
                .contains("then rank 0 called allreduce \"x\" at Trainer.step(Trainer.java:8), where rank 1 called");
    }

    @Test
    void withoutStepsBeforeMostRanksAreRight() {
        assertThat(verdict("x:9 a:1!", "x:9 b:2!", "x:9 b:2!", "x:9 b:2!"))
                .contains("then rank 0 called allreduce \"a\" at", ", where ranks {1, 2, 3} called allreduce \"b\" at");
    }

    @Test
    void theFirstCallOfAllMayBeTheOneWhereTheyPart() {
        assertThat(verdict("a:1!", "b:2!", "a:1!", "a:1!"))
                .startsWith("the ranks parted at their first call: rank 1 called allreduce \"b\" at");
    }

    @Test
    void differentCulpritsAreBothNamed() {
        assertThat(verdict("x:9 a:1! b:2! c:3!", "x:9 b:2! c:3!", "x:9 a:1! b:2! c:3!", "x:9 a:1! c:3!"))
                .contains("up to call 1 of rank 0; then rank 1 left out allreduce \"a\", which ranks {0, 2, 3} called")
                .contains("; and rank 3 left out allreduce \"b\", which ranks {0, 1, 2} called");
    }

    @Test
    void ranksThatLeaveTheWayInDifferentDirectionsAreBothNamed() {
        assertThat(verdict(STEP + "a:1!", STEP + "x:7!", STEP + "a:1!", STEP + "y:8!"))
                .contains("then rank 1 called allreduce \"x\" at Trainer.step(Trainer.java:7), rank 3 called allreduce"
                        + " \"y\" at Trainer.step(Trainer.java:8), where ranks {0, 2} called allreduce \"a\"");
    }

    /** Calls that a rank does not wait for at once are matched by name. */
    @Test
    void anotherOrderIsNoOmission() {
        assertThat(verdict("x:9 a:1 b:2 c:3 d:4!", "x:9 c:3 a:1 b:2 e:5!"))
                .contains("up to call 4 of rank 0; then rank 0 called allreduce \"d\"", "rank 1 called allreduce \"e\"")
                .doesNotContain("\"a\"", "\"b\"", "\"c\"");
    }

    @Test
    void aRankThatHasGoneOnInAnotherOrderHasLeftOutOnlyWhatItHasNotCalled() {
        assertThat(verdict("x:9 a:1 b:2! c:3 d:4!", "x:9 d:4! c:3 a:1"))
                .contains("rank 1 left out allreduce \"b\", which rank 0 called at Trainer.step(Trainer.java:2)");
    }

    @Test
    void aRankThatIsInItsOwnCodeHasLeftNothingOut() {
        List<RankView> ranks = List.of(
                Views.waitsAfter(0, calls(2, STEP + "a:1 b:2!")),
                Views.elsewhere(1, PhaseView.NONE, calls(2, STEP + "a:1").toArray(CallView[]::new)));

        assertThat(Verdict.of(CollectiveWait.of(ranks), ranks))
                .startsWith("rank 1 has not called allreduce \"b\": it is at Loader.read(Loader.java:11)");
    }

    /** Rank 2 comes to the calls in another order, and waits like rank 0 for rank 1, which has stopped before "p". */
    @Test
    void aRankThatWaitsForAThirdOneIsNotBlamedForWhatItHasNotReached() {
        List<RankView> ranks = List.of(
                Views.waitsAfter(0, calls(3, "x:9 p:1! a:2!")),
                Views.elsewhere(1, PhaseView.NONE, calls(3, "x:9 a:2!").toArray(CallView[]::new)),
                Views.waitsAfter(2, calls(3, "x:9 p:1!")));

        assertThat(Verdict.of(CollectiveWait.of(ranks), ranks))
                .doesNotContain("left out", "the ranks made the same calls");
    }

    @Test
    void aRankThatWaitsWhereTheOthersDoTooIsOnTheirWay() {
        assertThat(verdict("x:9 p:1! a:2!", "x:9 a:2! q:3!", "x:9 p:1!"))
                .contains("rank 1 left out allreduce \"p\"", "ranks {0, 2}")
                .doesNotContain("rank 2 called", "rank 2 left out");
    }

    /** The rank's third call is named as the fourth one of the others, which is found out two steps later. */
    @Test
    void anUnnamedCallThatOneRankLeavesOutIsFoundBehindItsShiftedNames() {
        String others = ":1 :2 :3 :1 :2 :3 :1 :2 :3!";

        assertThat(verdict(others, ":1 :2 :3 :1 :3 :1 :2 :3 end:9!", others, others))
                .startsWith("the ranks made the same calls up to call 4 of rank 0; then rank 1 left out the unnamed"
                        + " allreduce of float32 [3], which ranks {0, 2, 3} called at Trainer.step(Trainer.java:2);"
                        + " the unnamed calls after it have met the wrong ones; rank 1 has not called allreduce"
                        + " \"allreduce.noname.8\": it waits in allreduce \"end\"");
    }

    @Test
    void anUnnamedCallThatOneRankAddsIsFoundToo() {
        String others = ":1 :2 :1 :2 :1 :2 end:9!";

        assertThat(verdict(others, others, ":1 :2 :7 :1 :2 :1 :2!", others))
                .startsWith("the ranks made the same calls up to call 2 of rank 2; then rank 2 called the unnamed"
                        + " allreduce of float32 [3] at Trainer.step(Trainer.java:7), which ranks {0, 1, 3} did not"
                        + " call");
    }

    @Test
    void twoRanksThatLeaveOutDifferentUnnamedCallsAreBothNamed() {
        String others = ":1 :2 :3 :4 :5 :6!";

        assertThat(verdict(others, ":1 :3 :4 :5 :6 end:9!", others, ":1 :2 :3 :5 :6 end:9!"))
                .contains("up to call 1 of rank 0; then rank 1 left out the unnamed allreduce of float32 [3], which"
                        + " ranks {0, 2, 3} called at Trainer.step(Trainer.java:2); and rank 3 left out the unnamed"
                        + " allreduce of float32 [3], which ranks {0, 1, 2} called at Trainer.step(Trainer.java:4);");
    }

    /** Both branches have one call each, so the counters agree. */
    @Test
    void unnamedCallsOfTwoBranchesAreNoOmission() {
        assertThat(verdict(":1 :2 :4 :5 a:6!", ":1 :3 :4 :5 b:7!"))
                .contains("up to call 4 of rank 0; then rank 0 called allreduce \"a\"")
                .doesNotContain("left out", "unnamed");
    }

    @Test
    void unnamedCallsInAnotherOrderAreNoOmission() {
        assertThat(verdict(":1 :2 :1 :2 a:6!", ":2 :1 :2 :1 b:7!")).doesNotContain("left out", "unnamed");
    }

    /** In a loop over one line nothing tells the calls apart. */
    @Test
    void aLoopOverOneLineNamesTheCallThatIsMissingAtItsEnd() {
        assertThat(verdict(":1 :1 :1 :1!", ":1 :1 :1 end:9!"))
                .contains(
                        "then rank 1 called allreduce \"end\" at Trainer.step(Trainer.java:9), where rank 0 called the"
                                + " unnamed allreduce of float32 [3] at Trainer.step(Trainer.java:1)");
    }

    @Test
    void aRecorderThatHasRolledOverSaysFromWhereTheCallsAreTheSame() {
        assertThat(verdict("-a:1 -b:2 c:3 a:1 b:2!", "-a:1 -b:2 -c:3 a:1 x:8!"))
                .startsWith(
                        "the ranks made the same calls from call 3, the first that rank 0 remembers, up to call 4 of"
                                + " rank 0; then rank");
    }

    @Test
    void unnamedCallsAreComparedFromTheFirstThatBothRemember() {
        assertThat(verdict("-:1 -:2 -:3 :1 :2 :3 :1 :2 :3!", "-:1 :2 :3 :1 :3 :1 :2 :3 end:9!"))
                .contains("from call 4, the first that rank 0 remembers, up to call 4 of rank 0; then rank 1 left out")
                .contains("Trainer.step(Trainer.java:2)");
    }

    @Test
    void ranksThatPartedBeforeTheirRecordersBeginAreSaidToHaveDoneSo() {
        assertThat(verdict("-:1 -:2 -:3 :1 :2 :3 :1 :2 :3!", "-:1 -:3 -:1 :2 :3 :1 :2 :3 end:9!"))
                .startsWith("the ranks' unnamed calls are out of step since before the first call that all of them"
                        + " remember (HVD_FLIGHT_RECORDER), so what was left out is not known; rank 1 has not called")
                .doesNotContain("left out the");
    }

    @Test
    void aRankWithoutRecordsIsNotCompared() {
        List<RankView> ranks = List.of(
                Views.waitsAfter(0, calls(3, STEP + "a:1 b:2!")),
                Views.waitsAfter(1, calls(3, STEP + "a:1 c:3!")),
                Views.silent(2, ProcessState.UNKNOWN, CallView.NOT_YET));

        assertThat(Verdict.of(CollectiveWait.of(ranks), ranks))
                .doesNotContain("left out", "the ranks made the same calls");
    }

    @Test
    void whatWasCalledBeforeAJoinIsNotCompared() {
        assertThat(verdict(":1 :2 :3 +join :1 :2!", ":1 :3 +join :1 end:9!"))
                .contains("up to call 5 of rank 0; then")
                .doesNotContain("left out the unnamed");
    }

    @Test
    void theTransfersOfTwoRanksAreNoCallsOfTheOthers() {
        assertThat(verdict("x:9 +transfer a:1!", "x:9 +transfer b:2!", "x:9 a:1!", "x:9 a:1!"))
                .contains("up to call 1 of rank 0; then rank 1 called allreduce \"b\"");
    }

    private static String verdict(String... sequences) {
        List<RankView> ranks = IntStream.range(0, sequences.length)
                .mapToObj(rank -> Views.waitsAfter(rank, calls(sequences.length, sequences[rank])))
                .toList();
        return Verdict.of(CollectiveWait.of(ranks), ranks);
    }

    private static List<CallView> calls(int size, String words) {
        List<CallView> calls = new ArrayList<>();
        Map<String, Integer> counters = new HashMap<>();
        String[] all = words.trim().split(" +");
        for (int i = 0; i < all.length; i++) {
            CallView call = call(size, i + 1, all[i].replace("-", ""), counters);
            if (!all[i].startsWith("-")) {
                calls.add(call);
            }
        }
        return calls;
    }

    private static CallView call(int size, int number, String word, Map<String, Integer> counters) {
        List<Integer> members = IntStream.range(0, size).boxed().toList();
        if (word.startsWith("+")) {
            counters.clear();
            return ended(number, new CallView.Key(0, word.substring(1), word), members, "Trainer.end(Trainer.java:99)");
        }
        boolean isPending = word.endsWith("!");
        String[] parts = word.replace("!", "").split(":");
        String name = parts[0].isEmpty() ? "allreduce.noname." + (counters.merge("", 1, Integer::sum) - 1) : parts[0];
        CallView.Key key = new CallView.Key(0, "allreduce", name);
        String site = "Trainer.step(Trainer.java:" + parts[1] + ")";
        return isPending
                ? new CallView(number, key, "float32 [3]", members, site, 3000, CallView.NOT_YET, CallView.NOT_YET, "")
                : ended(number, key, members, site);
    }

    private static CallView ended(long number, CallView.Key key, List<Integer> members, String site) {
        return new CallView(number, key, "float32 [3]", members, site, 4000, 4000, 4000, "");
    }
}
