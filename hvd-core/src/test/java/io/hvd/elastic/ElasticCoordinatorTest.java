package io.hvd.elastic;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.elastic.ElasticEvent.Ended;
import io.hvd.elastic.ElasticEvent.Heard;
import io.hvd.elastic.ElasticEvent.Joined;
import io.hvd.elastic.ElasticEvent.Leaving;
import io.hvd.elastic.ElasticEvent.Ready;
import io.hvd.elastic.ElasticEvent.Started;
import io.hvd.elastic.ElasticEvent.Tick;
import io.hvd.elastic.ElasticOrder.Abandon;
import io.hvd.elastic.ElasticOrder.Finish;
import io.hvd.elastic.ElasticOrder.Form;
import io.hvd.elastic.ElasticOrder.Interrupt;
import io.hvd.elastic.ElasticOrder.Release;
import io.hvd.elastic.ElasticOrder.Say;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** What the coordinator of an elastic job orders, event by event. Worker n is on host hn. */
class ElasticCoordinatorTest {
    private static final long LIMIT_MILLIS = 20_000;
    private static final int TICK_MILLIS = 250;

    private Coordinator coordinator;
    private long now;
    /** Workers that give signs of life. */
    private final Set<Integer> audible = new TreeSet<>();

    private void job(int atLeast, int first, int atMost) {
        job(atLeast, first, atMost, Integer.MAX_VALUE);
    }

    private void job(int atLeast, int first, int atMost, int resets) {
        coordinator =
                new Coordinator(new ElasticLimits(atLeast, atMost, first, LIMIT_MILLIS, LIMIT_MILLIS, resets), now);
    }

    private List<ElasticOrder> tell(ElasticEvent event) {
        return coordinator.on(event, now);
    }

    /** Time passes, in which all audible workers give signs of life. */
    private List<ElasticOrder> pass(long millis) {
        List<ElasticOrder> orders = new ArrayList<>();
        for (long end = now + millis; now < end; ) {
            now += TICK_MILLIS;
            for (int worker : audible) {
                orders.addAll(tell(new Heard(worker)));
            }
            orders.addAll(tell(new Tick()));
        }
        return orders;
    }

    /** A launcher has announced it. */
    private List<ElasticOrder> join(int worker) {
        tell(new Started(worker, "h" + worker));
        return come(worker);
    }

    /** It comes by itself, unless it was announced. */
    private List<ElasticOrder> come(int worker) {
        audible.add(worker);
        return tell(new Joined(worker, "h" + worker));
    }

    private List<ElasticOrder> end(int worker) {
        audible.remove(worker);
        return tell(new Ended(worker, "killed by signal 9"));
    }

    private List<ElasticOrder> ready(int worker, int generation, long step) {
        return tell(new Ready(worker, generation, step, false, Set.of()));
    }

    private List<ElasticOrder> apart(int worker, int generation, long step, Integer... unreachable) {
        return tell(new Ready(worker, generation, step, false, Set.of(unreachable)));
    }

    private List<ElasticOrder> done(int worker, int generation, long step) {
        return tell(new Ready(worker, generation, step, true, Set.of()));
    }

    /** A job whose first generation is workers 0 to size - 1, in this order. */
    private void running(int atLeast, int size, int atMost) {
        job(atLeast, size, atMost);
        begin(size);
    }

    private void begin(int size) {
        List<ElasticOrder> orders = List.of();
        for (int worker = 0; worker < size; worker++) {
            orders = join(worker);
        }
        assertThat(orders).hasSize(1).first().isInstanceOf(Form.class);
    }

    private static List<String> sentences(List<ElasticOrder> orders) {
        return orders.stream()
                .filter(Say.class::isInstance)
                .map(order -> ((Say) order).sentence())
                .toList();
    }

    private static String failure(List<ElasticOrder> orders) {
        return orders.stream()
                .filter(Finish.class::isInstance)
                .map(order -> ((Finish) order).failure())
                .findFirst()
                .orElse("the job goes on: " + orders);
    }

    @Test
    void theFirstGenerationBeginsWhenAllWorkersAreThere() {
        job(2, 3, 4);

        assertThat(join(2)).isEmpty();
        assertThat(join(0)).isEmpty();
        assertThat(join(1)).containsExactly(new Form(0, List.of(0, 1, 2), 0));
    }

    @Test
    void itBeginsWithFewerIfNoneIsToComeAnyMore() {
        job(2, 3, 4);
        tell(new Started(2, "h2"));
        join(0);
        join(1);

        assertThat(pass(5_000)).noneMatch(Form.class::isInstance);
        assertThat(end(2)).contains(new Form(0, List.of(0, 1), 0));
    }

    @Test
    void aWorkerThatNeverComesIsWaitedForUntilTheLimit() {
        job(2, 3, 4);
        tell(new Started(2, "h2"));
        join(0);
        join(1);

        assertThat(pass(LIMIT_MILLIS - TICK_MILLIS)).noneMatch(Form.class::isInstance);
        assertThat(pass(TICK_MILLIS)).containsExactly(new Form(0, List.of(0, 1), 0));
    }

    @Test
    void ofWorkersThatComeByThemselvesMoreMayComeUntilTheLimit() {
        job(2, 3, 4);
        come(0);
        come(1);

        assertThat(pass(LIMIT_MILLIS - TICK_MILLIS)).noneMatch(Form.class::isInstance);
        assertThat(pass(TICK_MILLIS)).containsExactly(new Form(0, List.of(0, 1), 0));
    }

    @Test
    void aJobGrowsOnceForWorkersThatComeByThemselvesWithinASecond() {
        job(2, 2, 4);
        come(0);
        assertThat(come(1)).containsExactly(new Form(0, List.of(0, 1), 0));

        assertThat(come(2)).isEmpty();
        assertThat(pass(500)).isEmpty();
        assertThat(come(3)).isEmpty();
        assertThat(pass(500)).containsExactly(new Interrupt(0, List.of(0, 1)));
        ready(0, 0, 4);
        assertThat(ready(1, 0, 4)).containsExactly(new Form(1, List.of(0, 1, 2, 3), 0));
    }

    @Test
    void whoComesInPlaceOfALostOneGetsItsRankAtOnce() {
        job(3, 3, 3);
        come(0);
        come(1);
        come(2);
        end(1);
        ready(0, 0, 4);
        assertThat(ready(2, 0, 4)).isEmpty();

        assertThat(pass(4_000)).singleElement().isInstanceOf(Say.class);
        assertThat(come(3)).containsExactly(new Form(1, List.of(0, 3, 2), 0));
    }

    @Test
    void aSilentRankIsLostAtTheLimitIfNobodyElseWouldTellItsEnd() {
        job(1, 2, 2);
        come(0);
        come(1);
        audible.remove(1);
        String why = "no sign of life has come from it for 20 s (--elastic-timeout)";

        assertThat(pass(LIMIT_MILLIS - TICK_MILLIS)).isEmpty();
        assertThat(pass(TICK_MILLIS))
                .containsExactly(
                        new Release(1, false, why),
                        new Say("rank 1 (worker 1 on h1) is lost: " + why),
                        new Abandon(0, List.of(0), "rank 1 (worker 1 on h1) is lost"));
        assertThat(ready(0, 0, 7)).containsExactly(new Form(1, List.of(0), 0));
        audible.clear();
        assertThat(failure(pass(LIMIT_MILLIS))).startsWith("no rank is left that has the state of the training");
    }

    @Test
    void aLauncherWouldTellIt() {
        running(1, 2, 2);
        audible.clear();

        assertThat(pass(10 * LIMIT_MILLIS)).isEmpty();
    }

    @Test
    void theOthersOfALostMemberAreToldWhoItWasAndGoOnWithTheNewestState() {
        running(1, 3, 3);

        assertThat(end(1))
                .containsExactly(
                        new Say("rank 1 (worker 1 on h1) is lost: killed by signal 9"),
                        new Abandon(0, List.of(0, 2), "rank 1 (worker 1 on h1) is lost"));
        assertThat(ready(0, 0, 7)).isEmpty();
        assertThat(ready(2, 0, 8)).containsExactly(new Form(1, List.of(0, 2), 1));
    }

    @Test
    void survivorsKeepTheirRanksAndNewWorkersTakeFreeOnes() {
        running(1, 4, 4);
        join(7);
        end(1);
        ready(0, 0, 5);
        ready(2, 0, 5);

        assertThat(ready(3, 0, 5)).contains(new Form(1, List.of(0, 7, 2, 3), 0));
    }

    @Test
    void aRankThatDoesNotExistAnyMoreMovesToAFreeOne() {
        running(1, 4, 4);
        end(1);
        ready(0, 0, 5);
        ready(2, 0, 5);

        assertThat(ready(3, 0, 5)).containsExactly(new Form(1, List.of(0, 3, 2), 0));
    }

    @Test
    void aGenerationGrowsAtTheEndOfAStep() {
        running(1, 2, 3);

        assertThat(join(5)).containsExactly(new Interrupt(0, List.of(0, 1)));
        assertThat(ready(0, 0, 4)).isEmpty();
        assertThat(ready(1, 0, 4)).containsExactly(new Form(1, List.of(0, 1, 5), 0));
    }

    @Test
    void aGenerationOfTheGreatestSizeDoesNotGrow() {
        running(1, 2, 2);
        join(5);

        assertThat(pass(10_000)).isEmpty();
        end(0);
        assertThat(ready(1, 0, 4)).containsExactly(new Form(1, List.of(5, 1), 1));
    }

    @Test
    void workersThatComeAtTheSameTimeAreTakenInTogether() {
        running(1, 2, 4);
        tell(new Started(2, "h2"));
        tell(new Started(3, "h3"));

        assertThat(join(2)).isEmpty();
        assertThat(pass(500)).isEmpty();
        assertThat(join(3)).containsExactly(new Interrupt(0, List.of(0, 1)));
    }

    @Test
    void aWorkerThatWantsToLeaveIsLetGoAtTheEndOfAStep() {
        running(1, 3, 3);

        assertThat(tell(new Leaving(2))).containsExactly(new Interrupt(0, List.of(0, 1, 2)));
        ready(0, 0, 4);
        ready(2, 0, 4);
        assertThat(ready(1, 0, 4)).containsExactly(new Release(2, true, ""), new Form(1, List.of(0, 1), 0));
        assertThat(end(2)).isEmpty();
    }

    @Test
    void belowTheLeastSizeTheJobWaitsToTheLimitAndSaysWhoIsMissing() {
        running(2, 3, 3);
        tell(new Started(3, "h3"));
        end(1);
        end(2);
        ready(0, 0, 4);

        assertThat(sentences(pass(LIMIT_MILLIS - TICK_MILLIS)))
                .containsExactly(
                        "1 ranks are there and the next generation needs 2; missing are rank 1 (worker 1 on h1), rank 2 (worker 2 on h2);"
                                + " started, and not there yet, are worker 3 on h3; it waits for up to 20 s (--elastic-timeout)");
        assertThat(failure(pass(TICK_MILLIS)))
                .isEqualTo("only 1 of at least 2 ranks (--min-np) are there after 20 s (--elastic-timeout);"
                        + " missing are rank 1 (worker 1 on h1), rank 2 (worker 2 on h2); started, and not there yet, are worker 3 on h3"
                        + "; first rank 1 (worker 1 on h1) is lost: killed by signal 9");
        assertThat(coordinator.isOver()).isTrue();
    }

    @Test
    void aWorkerThatEndsBeforeItJoinsIsNamedTooIfTooFewAreLeft() {
        job(2, 2, 2);
        tell(new Started(1, "h1"));
        join(0);

        assertThat(sentences(end(1))).containsExactly("worker 1 on h1 is lost: killed by signal 9");
        assertThat(failure(pass(LIMIT_MILLIS))).contains("missing are worker 1 on h1");
    }

    @Test
    void aWorkerThatComesInTimeSavesTheJob() {
        running(2, 2, 2);
        end(1);
        ready(0, 0, 4);
        pass(LIMIT_MILLIS - 1_000);

        assertThat(join(3)).containsExactly(new Form(1, List.of(0, 3), 0));
    }

    @Test
    void afterTheLastResetThatIsAllowedTheJobEnds() {
        job(1, 3, 3, 1);
        begin(3);
        end(1);
        ready(0, 0, 4);
        ready(2, 0, 4);
        end(2);

        assertThat(failure(ready(0, 1, 5)))
                .isEqualTo("the job has had 1 resets, which is its limit (--reset-limit);"
                        + " missing are rank 1 (worker 1 on h1), rank 1 (worker 2 on h2)");
    }

    @Test
    void withoutAnyoneWhoHasTheStateTheJobEnds() {
        running(1, 2, 4);
        tell(new Started(2, "h2"));
        join(3);
        end(0);

        assertThat(failure(end(1)))
                .contains("state of the training", "rank 0 (worker 0 on h0)", "rank 1 (worker 1 on h1)");
    }

    @Test
    void aNewMemberWhoseFirstTransferHasFailedHasNoStateToGoOnWith() {
        running(1, 1, 3);
        join(1);
        ready(0, 0, 4);
        end(0);

        assertThat(failure(ready(1, 1, -1))).contains("state of the training", "rank 0 (worker 0 on h0)");
    }

    @Test
    void theFirstTransferMayFailAndBeginAgain() {
        running(1, 2, 2);
        end(0);

        assertThat(ready(1, 0, -1)).containsExactly(new Form(1, List.of(1), 0));
    }

    @Test
    void silenceAloneIsNoDeath() {
        running(1, 3, 3);
        audible.remove(2);

        assertThat(pass(60_000)).isEmpty();
        end(1);
        ready(0, 0, 4);
        assertThat(sentences(pass(LIMIT_MILLIS - TICK_MILLIS)))
                .containsExactly(
                        "the next generation waits for rank 2 (worker 2 on h2), which has not ended its step yet; no sign of"
                                + " life comes from rank 2 (worker 2 on h2), whose process may be stopped");
        assertThat(pass(TICK_MILLIS))
                .contains(new Form(1, List.of(0), 0))
                .anyMatch(order -> order instanceof Release release
                        && release.worker() == 2
                        && !release.wanted()
                        && release.why().contains("it has not left generation 0 within 20 s (--elastic-timeout)"));
    }

    @Test
    void aSilentMemberWhoseHostOthersDoNotReachIsLost() {
        running(1, 3, 3);
        audible.remove(2);
        pass(3_000);
        apart(0, 0, 4, 2);

        assertThat(apart(1, 0, 4, 2)).containsExactly(new Form(1, List.of(0, 1), 0));
    }

    @Test
    void aMemberThatIsHeardIsNotLostBecauseAnotherDoesNotReachIt() {
        running(1, 3, 3);

        assertThat(apart(0, 0, 4, 2))
                .containsExactly(new Abandon(0, List.of(1, 2), "rank 0 (worker 0 on h0) has left the generation"));
        assertThat(pass(LIMIT_MILLIS - TICK_MILLIS)).noneMatch(Release.class::isInstance);
    }

    @Test
    void theJobEndsWhenAllAreDone() {
        running(1, 2, 3);
        tell(new Started(2, "h2"));

        assertThat(done(1, 0, 9)).isEmpty();
        assertThat(done(0, 0, 9))
                .containsExactly(
                        new Release(0, true, ""), new Release(1, true, ""), new Release(2, true, ""), new Finish(""));
        assertThat(coordinator.isOver()).isTrue();
        assertThat(join(2)).isEmpty();
        assertThat(pass(LIMIT_MILLIS)).isEmpty();
    }

    @Test
    void behindTheLastStepARankMayEvaluateForAsLongAsItLikes() {
        running(1, 2, 2);
        done(1, 0, 9);

        assertThat(pass(3 * LIMIT_MILLIS)).isEmpty();
        assertThat(done(0, 0, 9)).containsExactly(new Release(0, true, ""), new Release(1, true, ""), new Finish(""));
    }

    @Test
    void oneThatIsStoppedThereIsLostAtTheLimit() {
        running(1, 2, 2);
        done(1, 0, 9);
        audible.remove(0);

        List<ElasticOrder> orders = pass(2 * LIMIT_MILLIS);

        assertThat(sentences(orders)).anyMatch(said -> said.contains("whose process may be stopped"));
        assertThat(orders).contains(new Finish(""));
    }

    @Test
    void anotherMayComeInThePlaceOfOneThatHasNotLeftItsGeneration() {
        running(2, 2, 2);
        ready(0, 0, 4);

        assertThat(pass(LIMIT_MILLIS)).anyMatch(Release.class::isInstance).noneMatch(Finish.class::isInstance);
        assertThat(join(5)).containsExactly(new Form(1, List.of(0, 5), 0));
    }

    @Test
    void aRankThatHasMissedTheLastStepTakesTheStateOfOneThatIsDone() {
        running(1, 3, 3);
        end(2);
        done(1, 0, 9);

        assertThat(ready(0, 0, 8)).containsExactly(new Form(1, List.of(0, 1), 1));
    }

    /** Worker 0 leaves generation 0 and is stopped; generation 1 is workers 1 and 2. */
    private void goOnWithoutTheStoppedRankZero() {
        running(1, 3, 4);
        ready(0, 0, 4);
        audible.remove(0);
        pass(3_000);
        ready(1, 0, 4);

        assertThat(ready(2, 0, 4)).contains(new Form(1, List.of(2, 1), 0));
    }

    @Test
    void aSurvivorThatWasStoppedComesBackLikeANewWorkerAndTakesNobodysRank() {
        goOnWithoutTheStoppedRankZero();
        audible.add(0);

        assertThat(pass(TICK_MILLIS)).containsExactly(new Interrupt(1, List.of(1, 2)));
        ready(1, 1, 6);
        assertThat(ready(2, 1, 6)).containsExactly(new Form(2, List.of(2, 1, 0), 0));
    }

    @Test
    void theStateOfOneThatWasLeftBehindIsNotGoneBackTo() {
        goOnWithoutTheStoppedRankZero();
        end(1);
        audible.add(0);

        assertThat(failure(end(2)))
                .contains("state of the training", "rank 1 (worker 1 on h1)", "rank 0 (worker 2 on h2)");
    }

    @Test
    void oneThatWasLeftBehindDoesNotHoldUpTheEndOfTheJob() {
        goOnWithoutTheStoppedRankZero();
        done(1, 1, 9);

        assertThat(done(2, 1, 9)).contains(new Release(0, true, ""), new Finish(""));
    }

    @Test
    void whoIsSilentDoesNotTurnOthersOut() {
        running(1, 3, 3);
        apart(0, 0, 4, 1, 2);
        audible.remove(0);
        pass(3_000);
        ready(1, 0, 4);

        assertThat(ready(2, 0, 4)).containsExactly(new Form(1, List.of(2, 1), 0));
    }

    @Test
    void ofTwoThatDoNotReachEachOtherTheOneWithTheHigherRankHasToGo() {
        running(1, 3, 3);
        apart(1, 0, 4, 2);
        apart(2, 0, 4, 1);

        assertThat(ready(0, 0, 4))
                .containsExactly(
                        new Release(2, false, "the hosts of other ranks do not reach its host"),
                        new Say("rank 2 (worker 2 on h2) is lost: the hosts of other ranks do not reach its host"),
                        new Form(1, List.of(0, 1), 0));
    }

    @Test
    void oneThatReachesNobodyHasToGoAndNotAllOthers() {
        running(2, 4, 4);
        apart(0, 0, 4, 1, 2, 3);
        apart(1, 0, 4, 0);
        apart(2, 0, 4, 0);

        assertThat(apart(3, 0, 4, 0)).contains(new Form(1, List.of(3, 1, 2), 0));
    }

    @Test
    void oneWithoutAStateDoesNotTurnOutTheOneThatHasIt() {
        running(1, 2, 2);
        join(2);
        end(0);
        assertThat(ready(1, 0, 4)).containsExactly(new Form(1, List.of(2, 1), 1));
        apart(1, 1, 4, 2);

        assertThat(apart(2, 1, -1, 1)).contains(new Form(2, List.of(1), 0));
    }

    @Test
    void whatASlowConnectionSaysOfAProcessThatHasEndedDoesNotBringItBack() {
        running(1, 2, 3);
        tell(new Started(2, "h2"));
        end(2);

        assertThat(tell(new Joined(2, "h2"))).isEmpty();
        assertThat(pass(2_000)).isEmpty();
    }

    @Test
    void aWorkerMayJoinBeforeTheLauncherSaysThatItHasStartedIt() {
        job(1, 2, 2);
        join(0);
        join(1);

        assertThat(tell(new Started(1, "h1"))).isEmpty();
        end(0);
        assertThat(ready(1, 0, 3)).containsExactly(new Form(1, List.of(1), 0));
    }

    @Test
    void aWorkerThatIsToEndBeforeItJoinsIsLetGoAtOnce() {
        running(1, 2, 3);
        tell(new Started(2, "h2"));
        tell(new Leaving(2));

        assertThat(join(2)).containsExactly(new Release(2, true, ""));
    }

    @Test
    void aWorkerThatWaitsToBeNeededIsLetGoWhenItAsksForIt() {
        running(1, 2, 2);
        join(2);

        assertThat(tell(new Leaving(2))).containsExactly(new Release(2, true, ""));
    }

    @Test
    void beforeTheFirstStepNothingIsLostWithTheState() {
        running(1, 3, 3);
        end(0);
        ready(1, 0, 0);
        assertThat(ready(2, 0, -1)).contains(new Form(1, List.of(2, 1), 1));
        end(1);

        assertThat(ready(2, 1, -1)).contains(new Form(2, List.of(2), 0));
    }

    @Test
    void theJobEndsWellWhenThoseThatAreDoneWantToLeaveToo() {
        running(1, 2, 2);
        tell(new Leaving(0));
        tell(new Leaving(1));
        done(0, 0, 9);

        assertThat(done(1, 0, 9)).containsExactly(new Release(0, true, ""), new Release(1, true, ""), new Finish(""));
    }

    @Test
    void oneThatLeavesDoesNotHoldUpTheEndOfTheJob() {
        running(1, 3, 3);
        tell(new Leaving(0));
        end(2);
        ready(0, 0, 8);

        assertThat(done(1, 0, 9)).containsExactly(new Release(0, true, ""), new Release(1, true, ""), new Finish(""));
    }

    @Test
    void membersThatWereAskedToLeaveAreToldIfOneOfThemCannotGoOn() {
        running(1, 3, 4);
        assertThat(join(3)).containsExactly(new Interrupt(0, List.of(0, 1, 2)));

        assertThat(apart(0, 0, 4, 2))
                .anyMatch(order ->
                        order instanceof Abandon abandon && abandon.members().equals(List.of(1, 2)));
    }

    @Test
    void workersThatComeOneAfterTheOtherDoNotPutOffAllOfThem() {
        running(1, 1, 9);
        List<ElasticOrder> orders = new ArrayList<>();
        for (int worker = 1; worker < 5; worker++) {
            tell(new Started(worker + 1, "h" + (worker + 1)));
            orders.addAll(join(worker));
            orders.addAll(pass(500));
        }

        assertThat(orders).containsExactly(new Interrupt(0, List.of(0)));
    }

    @Test
    void aJobThatMayNotBeginAgainDoesNotStopInOrderToGrow() {
        job(1, 2, 3, 0);
        begin(2);

        assertThat(join(2)).isEmpty();
        assertThat(pass(10_000)).isEmpty();
        assertThat(tell(new Leaving(0))).containsExactly(new Interrupt(0, List.of(0, 1)));
    }

    @Test
    void theLastOneWithTheStateHandsItOnToNewWorkersBeforeItLeaves() {
        running(1, 2, 2);
        join(5);
        join(6);
        tell(new Leaving(0));
        tell(new Leaving(1));
        ready(0, 0, 4);

        assertThat(ready(1, 0, 4)).containsExactly(new Release(1, true, ""), new Form(1, List.of(0, 5), 0));
        assertThat(pass(TICK_MILLIS)).containsExactly(new Interrupt(1, List.of(0, 5)));
        ready(0, 1, 5);
        assertThat(ready(5, 1, 5)).containsExactly(new Release(0, true, ""), new Form(2, List.of(6, 5), 1));
    }

    @Test
    void whenAllLeaveAndNobodyComesTheJobEndsAndSaysSo() {
        running(1, 2, 2);
        tell(new Leaving(0));
        tell(new Leaving(1));
        ready(0, 0, 4);

        assertThat(failure(ready(1, 0, 4)))
                .isEqualTo(
                        "no rank is left that has the state of the training;"
                                + " missing are rank 0 (worker 0 on h0) (which has left), rank 1 (worker 1 on h1) (which has left)");
    }

    @Test
    void whyAGenerationCannotGoOnIsSaidOfThisOneAndNotOfOneBefore() {
        running(1, 3, 3);
        end(1);
        ready(0, 0, 4);
        ready(2, 0, 4);

        assertThat(ready(0, 1, 5))
                .containsExactly(new Abandon(1, List.of(2), "rank 0 (worker 0 on h0) has left the generation"));
    }

    @Test
    void whoWasReplacedIsNotMissing() {
        running(2, 3, 3);
        join(3);
        end(1);
        ready(0, 0, 4);
        ready(2, 0, 4);
        end(3);
        ready(0, 1, 5);
        end(2);

        assertThat(failure(pass(LIMIT_MILLIS)))
                .contains("; missing are rank 1 (worker 3 on h3), rank 2 (worker 2 on h2)")
                .doesNotContain("h1");
    }

    @Test
    void theUserIsToldOfEachReasonToWait() {
        running(2, 3, 3);
        end(1);
        ready(0, 0, 4);
        assertThat(sentences(pass(4_000))).hasSize(1).first().asString().contains("waits for rank 2 (worker 2 on h2)");
        end(2);

        assertThat(sentences(pass(4_000)))
                .hasSize(1)
                .first()
                .asString()
                .contains("1 ranks are there", "rank 2 (worker 2 on h2)");
    }

    @Test
    void oneThatIsDoneAndEndsBeforeTheOthersIsMissingToo() {
        running(2, 2, 2);
        done(0, 0, 9);

        assertThat(sentences(end(0))).containsExactly("rank 0 (worker 0 on h0) is lost: killed by signal 9");
        ready(1, 0, 8);
        assertThat(failure(pass(LIMIT_MILLIS))).contains("missing are rank 0 (worker 0 on h0)");
    }

    /** As in an evaluation that all are in when a rank is lost. */
    @Test
    void ranksThatComputeForLongAreNotEvictedWhileNobodyWaitsForThem() {
        running(1, 3, 3);
        end(2);

        assertThat(pass(5 * LIMIT_MILLIS)).noneMatch(Release.class::isInstance);
        ready(0, 0, 7);
        assertThat(pass(LIMIT_MILLIS / 2)).noneMatch(Release.class::isInstance);
        assertThat(ready(1, 0, 7)).anyMatch(Form.class::isInstance);
    }

    @Test
    void whereAllAreLostTheEndSaysWhyTheFirstOneWas() {
        running(1, 2, 2);
        tell(new Ended(1, "thread main threw a bad row"));
        List<ElasticOrder> orders = tell(new Ended(0, "thread main threw another one"));

        assertThat(failure(orders))
                .startsWith("no rank is left that has the state of the training; missing are ")
                .endsWith("; first rank 1 (worker 1 on h1) is lost: thread main threw a bad row");
    }
}
