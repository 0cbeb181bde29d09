package io.hvd.engine.coordination;

import static io.hvd.engine.message.Requests.closes;
import static io.hvd.engine.message.Requests.gather;
import static io.hvd.engine.message.Requests.sum;
import static io.hvd.engine.message.Requests.wants;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.hvd.config.EngineSettings;
import io.hvd.engine.message.Announcement;
import io.hvd.engine.message.Announcement.Wishes;
import io.hvd.engine.message.Batch;
import io.hvd.engine.message.Batches;
import io.hvd.engine.message.LeftPlan;
import io.hvd.engine.message.Plan;
import io.hvd.engine.message.Request;
import io.hvd.engine.message.Requests;
import io.hvd.engine.message.Tunable;
import io.hvd.engine.message.Tuning;
import io.hvd.tensor.DType;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What goes beyond one operation: cache, static plans, joining, groups, limits, order, process sets. */
class CoordinatorPlansTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private static EngineSettings settings(int cache, int steps, boolean strict) {
        return new EngineSettings(1 << 20, true, 0, cache, steps, true, strict, 0, 0);
    }

    private static Coordinator two(EngineSettings settings) {
        return new Coordinator(2, List.of(), settings);
    }

    private static Announcement known(int epoch, long seen, int... numbers) {
        BitSet bits = new BitSet();
        for (int number : numbers) {
            bits.set(number);
        }
        return new Announcement(List.of(new Wishes(0, epoch, seen, bits, List.of(), List.of())), false, "");
    }

    private static Announcement called(Request request, String site) {
        Wishes wishes = new Wishes(0, 0, 0, new BitSet(), List.of(request), List.of(site));
        return new Announcement(List.of(wishes), false, "");
    }

    private static void bothWant(Coordinator coordinator, Request... requests) {
        coordinator.announce(0, wants(requests), 0);
        coordinator.announce(1, wants(requests), 0);
    }

    private static List<Batch> batches(Coordinator coordinator) {
        return coordinator.next(0).stream()
                .flatMap(plan -> plan.batches().stream())
                .toList();
    }

    @Test
    void whatComesAgainIsKnownByItsNumber() {
        Coordinator coordinator = two(settings(8, 0, false));
        bothWant(coordinator, sum("a", 4), gather("g", DType.INT8, 3));
        assertThat(batches(coordinator))
                .containsExactlyInAnyOrder(
                        new Batch.Allreduce(List.of(Plan.Op.named("a")), 2),
                        new Batch.Allgather("g", List.of(3L, 3L), true));

        coordinator.announce(0, known(0, 1, 0, 1), 0);
        coordinator.announce(1, known(0, 1, 0, 1), 0);
        assertThat(batches(coordinator))
                .containsExactly(new Batch.Again(0), new Batch.Allreduce(List.of(new Plan.Op("a", 1)), 2));
    }

    @Test
    void oneRankThatAsksForSomethingElseUnderAKnownNameIsComparedWithTheOthers() {
        Coordinator coordinator = two(settings(8, 0, false));
        bothWant(coordinator, sum("a", 4));
        batches(coordinator);
        coordinator.announce(0, known(0, 1, 0), 0);
        coordinator.announce(1, wants(sum("a", 8)), 0);
        assertThat(batches(coordinator)).singleElement().satisfies(batch -> {
            assertThat(Batches.verdict(batch)).isEqualTo(Batch.Reason.MISMATCH);
            assertThat(Batches.error(batch)).contains("[1] on ranks {0}", "[2] on ranks {1}");
        });
    }

    @Test
    void aNumberThatHasGoneMeanwhileIsStillUnderstood() {
        Coordinator coordinator = two(settings(1, 0, false));
        bothWant(coordinator, sum("a", 4));
        batches(coordinator);
        coordinator.announce(0, known(0, 1, 0), 0);
        bothWant(coordinator, sum("b", 4));
        assertThat(batches(coordinator)).extracting(Batch::names).containsExactly(List.of("b"));
        assertThat(coordinator.warning())
                .hasValueSatisfying(
                        text -> assertThat(text).contains("more than 1 different requests", "HOROVOD_CACHE_CAPACITY"));
        assertThat(coordinator.warning()).as("said once").isEmpty();

        coordinator.announce(1, known(0, 1, 0), 0);
        assertThat(batches(coordinator))
                .as("the ranks have forgotten the number by then")
                .containsExactly(new Batch.Allreduce(List.of(Plan.Op.named("a")), 2));
    }

    @Test
    void equalStepsAreLockedAndWhatWasSaidBeforeIsNotCounted() {
        Coordinator coordinator = two(settings(8, 3, false));
        bothWant(coordinator, sum("a", 4));
        batches(coordinator);
        List<List<String>> lock = List.of();
        for (int step = 1; lock.isEmpty() && step < 10; step++) {
            coordinator.announce(0, known(0, step, 0), 0);
            coordinator.announce(1, known(0, step, 0), 0);
            lock = coordinator.next(0).get(0).lock();
            assertThat(lock.isEmpty()).as("after " + step + " steps").isEqualTo(step < 3);
        }
        assertThat(lock).containsExactly(List.of("a"));

        coordinator.announce(0, known(0, 4, 0), 0);
        coordinator.announce(1, known(0, 4, 0), 0);
        assertThat(coordinator.next(0)).as("of the epoch before").isEmpty();

        coordinator.unlock(0, new LeftPlan(Optional.empty(), Map.of()));
        coordinator.announce(0, known(2, 4, 0), 0);
        coordinator.announce(1, known(2, 4, 0), 0);
        assertThat(batches(coordinator)).extracting(Batch::names).containsExactly(List.of("a"));
    }

    /** A rank beside the one that vetoes hears of it before rank 0 has come to that step at all. */
    @Test
    void whatIsSaidByARankThatKnowsOfTheChangeBeforeTheCoordinatorCountsAfterIt() {
        Coordinator coordinator = two(settings(8, 3, false));
        bothWant(coordinator, sum("a", 4));
        batches(coordinator);
        for (int step = 1; step <= 3; step++) {
            coordinator.announce(0, known(0, step, 0), 0);
            coordinator.announce(1, known(0, step, 0), 0);
            coordinator.next(0);
        }

        coordinator.announce(1, known(2, 4, 0), 0);
        assertThat(coordinator.next(0)).isEmpty();
        coordinator.unlock(0, new LeftPlan(Optional.empty(), Map.of()));
        coordinator.announce(0, known(2, 4, 0), 0);
        assertThat(batches(coordinator)).extracting(Batch::names).containsExactly(List.of("a"));
    }

    /** Locked with this one step after the other, which is what the ranks do. */
    private static Coordinator lockedWith(Request... requests) {
        Coordinator coordinator = two(settings(8, 3, false));
        bothWant(coordinator, requests);
        batches(coordinator);
        int[] numbers = IntStream.range(0, requests.length).toArray();
        for (int step = 1; step <= 3; step++) {
            coordinator.announce(0, known(0, step, numbers), 0);
            coordinator.announce(1, known(0, step, numbers), 0);
            coordinator.next(0);
        }
        return coordinator;
    }

    /** What fuses is told by types and scales, which a cut into names does not know. */
    @Test
    void aBetterCutIsForgottenWhereARequestHasChanged() {
        for (DType type : List.of(DType.FLOAT32, DType.FLOAT64)) {
            Coordinator coordinator = lockedWith(sum("a", 4), sum("b", 4));
            coordinator.unlock(0, new LeftPlan(Optional.of(List.of(List.of("b"), List.of("a"))), Map.of()));
            Request b = Requests.allreduce("b", type, Shape.of(1), ReduceOp.SUM);
            int number = type == DType.FLOAT32 ? 1 : 2;
            List<List<String>> lock = List.of();
            for (int step = 4; lock.isEmpty() && step < 12; step++) {
                for (int rank = 0; rank < 2; rank++) {
                    boolean fresh = number == 2 && step == 4;
                    BitSet bits = new BitSet();
                    bits.set(0);
                    bits.set(number, !fresh);
                    Wishes wishes = new Wishes(0, 2, step, bits, fresh ? List.of(b) : List.of(), List.of());
                    coordinator.announce(rank, new Announcement(List.of(wishes), false, ""), 0);
                }
                lock = coordinator.next(0).get(0).lock();
            }
            assertThat(lock)
                    .isEqualTo(
                            type == DType.FLOAT32
                                    ? List.of(List.of("b"), List.of("a"))
                                    : List.of(List.of("a"), List.of("b")));
        }
    }

    @Test
    void theEndWaitsUntilTheStaticPlanHasBeenLeft() {
        Coordinator coordinator = lockedWith(sum("a", 4));
        coordinator.announce(0, closes(), 0);
        coordinator.announce(1, closes(), 0);
        assertThat(coordinator.next(0)).isEmpty();
        coordinator.unlock(0, new LeftPlan(Optional.empty(), Map.of()));
        assertThat(coordinator.next(0)).singleElement().matches(Plan::stop);
    }

    /** It is said once only, and may come before or after the rank has heard of the change. */
    @Test
    void aBarrierWithALimitCountsInEveryEpoch() {
        Coordinator coordinator = two(settings(8, 0, false));
        coordinator.unlock(0, new LeftPlan(Optional.empty(), Map.of()));
        bothWant(coordinator, new Request.Barrier("limited", 100));
        assertThat(batches(coordinator)).extracting(Batch::names).containsExactly(List.of("limited"));
        bothWant(coordinator, new Request.Barrier("unlimited", 0));
        assertThat(coordinator.next(0)).as("of the epoch before").isEmpty();
    }

    @Test
    void whileAnotherProcessSetExistsNothingIsLocked() {
        Coordinator coordinator = new Coordinator(2, List.of(List.of(1)), settings(8, 2, false));
        bothWant(coordinator, sum("a", 4));
        batches(coordinator);
        for (int step = 1; step < 10; step++) {
            coordinator.announce(0, known(0, step, 0), 0);
            coordinator.announce(1, known(0, step, 0), 0);
            assertThat(coordinator.next(0).get(0).lock()).isEmpty();
        }
    }

    @Test
    void aJoinedRankIsNotWaitedForAndAllLearnWhoWasLast() {
        Coordinator coordinator = two(settings(8, 0, false));
        coordinator.announce(0, wants(sum("a", 4)), 0);
        assertThat(coordinator.next(0)).isEmpty();
        coordinator.announce(1, wants(new Request.Join("join", JoinDivisor.ACTIVE)), 0);
        Batch alone = batches(coordinator).get(0);
        assertThat(alone).isEqualTo(new Batch.AllreduceOfSome(List.of(sum("a", 4)), 1));

        coordinator.announce(0, wants(new Request.Join("join", JoinDivisor.ACTIVE)), 0);
        assertThat(batches(coordinator)).containsExactly(new Batch.Join("join", 0));
    }

    @Test
    void whatCannotDoWithoutAJoinedRankIsRefused() {
        Coordinator coordinator = two(settings(8, 0, false));
        coordinator.announce(1, wants(new Request.Join("join", JoinDivisor.INITIAL)), 0);
        coordinator.announce(0, wants(gather("g", DType.INT8, 3)), 0);
        assertThat(batches(coordinator)).singleElement().satisfies(batch -> {
            assertThat(Batches.verdict(batch)).isEqualTo(Batch.Reason.MISMATCH);
            assertThat(Batches.error(batch)).contains("\"g\"", "allgather", "{1}", "sparseAsDense");
        });
    }

    /** Each had asked before it joined, so that nobody's part is missing. */
    @Test
    void whatAllHadAskedForBeforeTheyJoinedIsCarriedOut() {
        Coordinator coordinator = two(settings(8, 0, false));
        for (int rank = 0; rank < 2; rank++) {
            coordinator.announce(
                    rank, wants(gather("g", DType.INT8, 3), new Request.Join("join", JoinDivisor.INITIAL)), 0);
        }
        assertThat(batches(coordinator))
                .containsExactly(new Batch.Allgather("g", List.of(3L, 3L), false), new Batch.Join("join", 1));
    }

    @Test
    void aTransferHasNothingToDoWithAJoinThatFails() {
        Coordinator coordinator = new Coordinator(3, List.of(), settings(8, 0, false));
        coordinator.announce(0, wants(new Request.Join("join", JoinDivisor.INITIAL)), 0);
        coordinator.announce(1, wants(new Request.Join("join", JoinDivisor.ACTIVE)), 0);
        Tensor tensor = Tensor.of(1f);
        coordinator.announce(1, wants(Request.send("t", tensor, 2)), 0);
        coordinator.announce(2, wants(Request.receive("t", tensor, 1)), 0);
        assertThat(batches(coordinator)).containsExactly(new Batch.Transfer("t"));
    }

    @Test
    void differentDivisorsAreRefusedWithTheirRanks() {
        Coordinator coordinator = two(settings(8, 0, false));
        coordinator.announce(0, wants(new Request.Join("join", JoinDivisor.INITIAL)), 0);
        coordinator.announce(1, wants(new Request.Join("join", JoinDivisor.ACTIVE)), 0);
        assertThat(batches(coordinator))
                .singleElement()
                .extracting(Batches::error)
                .asString()
                .contains("INITIAL on ranks {0}", "ACTIVE on ranks {1}");
    }

    @Test
    void aGroupWaitsForItsLastMemberAndFailsAsOne() {
        Coordinator coordinator = two(settings(8, 0, false));
        Request.Group group = new Request.Group("g", 2);
        bothWant(coordinator, sum("g.0", 4, group));
        assertThat(coordinator.next(0)).isEmpty();
        bothWant(coordinator, sum("g.1", 4, group));
        assertThat(batches(coordinator)).extracting(Batch::names).containsExactly(List.of("g.0", "g.1"));

        bothWant(coordinator, sum("g.0", 4, group));
        coordinator.announce(0, wants(sum("g.1", 4, group)), 0);
        coordinator.announce(1, wants(sum("g.1", 8, group)), 0);
        assertThat(batches(coordinator))
                .extracting(Batch::names, Batches::verdict)
                .containsExactlyInAnyOrder(
                        tuple(List.of("g.0"), Batch.Reason.MISMATCH), tuple(List.of("g.1"), Batch.Reason.MISMATCH));
    }

    @Test
    void theRestOfAGroupThatALeftPlanHasBegunDoesNotWaitForWhatIsDone() {
        Request.Group group = new Request.Group("g", 3);
        Coordinator coordinator = two(settings(8, 0, false));
        coordinator.unlock(0, new LeftPlan(Optional.empty(), Map.of("g", Set.of("g.0"))));
        bothWantLater(coordinator, sum("g.1", 4, group), sum("g.2", 4, group));
        assertThat(batches(coordinator)).extracting(Batch::names).containsExactly(List.of("g.1", "g.2"));

        bothWantLater(coordinator, sum("g.1", 4, group), sum("g.2", 4, group));
        assertThat(coordinator.next(0)).as("the next time it is whole again").isEmpty();
        bothWantLater(coordinator, sum("g.0", 4, group));
        assertThat(batches(coordinator)).extracting(Batch::names).containsExactly(List.of("g.1", "g.2", "g.0"));
    }

    /** After one static plan. */
    private static void bothWantLater(Coordinator coordinator, Request... requests) {
        Wishes wishes = new Wishes(0, 1, 0, new BitSet(), List.of(requests), List.of());
        coordinator.announce(0, new Announcement(List.of(wishes), false, ""), 0);
        coordinator.announce(1, new Announcement(List.of(wishes), false, ""), 0);
    }

    @Test
    void aGroupTravelsAsOneBeyondTheFusionThresholdUnlessThatIsDisabled() {
        assertThat(batchesOfAGroup(true)).containsExactly(List.of("g.0", "g.1", "g.2"));
        assertThat(batchesOfAGroup(false)).containsExactly(List.of("g.0", "g.1"), List.of("g.2"));
    }

    /** Three tensors of four bytes where eight may travel together. */
    private static List<List<String>> batchesOfAGroup(boolean groupFusion) {
        Coordinator coordinator = two(new EngineSettings(8, groupFusion, 0, 8, 0, true, false, 0, 0));
        Request.Group group = new Request.Group("g", 3);
        bothWant(coordinator, sum("g.0", 4, group), sum("g.1", 4, group), sum("g.2", 4, group));
        return batches(coordinator).stream().map(Batch::names).toList();
    }

    @Test
    void tunedSettingsComeWithTheNextPlanAndHoldForWhatItDecides() {
        Coordinator coordinator = two(settings(8, 0, false));
        Tuning tuning = new Tuning(new Tunable(8, 5, 0, 0), "");
        coordinator.tune(tuning);
        bothWant(coordinator, sum("a", 4), sum("b", 4), sum("c", 4));

        List<Plan> plans = coordinator.next(0);
        assertThat(plans).singleElement().satisfies(plan -> {
            assertThat(plan.tuning()).contains(tuning);
            assertThat(plan.batches()).extracting(Batch::names).containsExactly(List.of("a", "b"), List.of("c"));
        });
        bothWant(coordinator, sum("d", 4));
        assertThat(coordinator.next(0)).extracting(Plan::tuning).containsExactly(Optional.empty());

        Tuning result = new Tuning(tuning.settings(), "a result");
        coordinator.tune(result);
        assertThat(coordinator.next(0))
                .as("without any operation")
                .extracting(Plan::tuning)
                .containsExactly(Optional.of(result));
    }

    @Test
    void otherSettingsWaitForTheEndOfAStaticPlanAndAResultDoesNot() {
        Coordinator coordinator = two(settings(8, 2, false));
        bothWant(coordinator, sum("a", 4));
        coordinator.next(0);
        List<List<String>> lock = List.of();
        for (int step = 1; step <= 2; step++) {
            coordinator.announce(0, known(0, step, 0), 0);
            coordinator.announce(1, known(0, step, 0), 0);
            lock = coordinator.next(0).get(0).lock();
        }
        assertThat(lock).containsExactly(List.of("a"));

        Tuning same = new Tuning(new Tunable(1 << 20, 0, 0, 0), "a result");
        coordinator.tune(same);
        assertThat(coordinator.next(0)).extracting(Plan::tuning).containsExactly(Optional.of(same));
        Tuning other = new Tuning(new Tunable(8, 0, 0, 0), "");
        coordinator.tune(other);
        assertThat(coordinator.next(0)).isEmpty();
        coordinator.unlock(0, new LeftPlan(Optional.empty(), Map.of()));
        assertThat(coordinator.next(0)).extracting(Plan::tuning).containsExactly(Optional.of(other));
    }

    /** Rank 0's communication thread was in the data plane from 0.6 s on, where it heard nobody. */
    @Test
    void aLimitRunsOnlyWhileTheCoordinatorListens() {
        Coordinator coordinator = two(settings(8, 0, false));
        coordinator.announce(0, wants(new Request.Barrier("b", 1_000)), 0);
        long listened = SECOND * 6 / 10;
        long back = 5 * SECOND;
        assertThat(coordinator.nanosUntilDue(back)).isZero();

        coordinator.postpone(listened, back);

        assertThat(coordinator.next(back)).isEmpty();
        long over = back + SECOND - listened;
        assertThat(coordinator.nanosUntilDue(back)).isEqualTo(over - back);
        coordinator.postpone(over, over);
        assertThat(coordinator.next(over).get(0).batches())
                .extracting(Batches::verdict)
                .containsExactly(Batch.Reason.TIMED_OUT);
    }

    @Test
    void lateRanksAreNamedWhenTheLimitIsOverAndToldWhenTheyCome() {
        Coordinator coordinator = two(settings(8, 0, false));
        coordinator.announce(0, wants(new Request.Barrier("b", 1_000)), 5 * SECOND);
        assertThat(coordinator.nanosUntilDue(5 * SECOND)).isEqualTo(SECOND);
        assertThat(coordinator.next(6 * SECOND - 1)).isEmpty();
        Batch over = coordinator.next(6 * SECOND).get(0).batches().get(0);
        assertThat(Batches.verdict(over)).isEqualTo(Batch.Reason.TIMED_OUT);
        assertThat(Batches.error(over)).contains("\"b\"", "1000 ms", "{1}");
        assertThat(coordinator.nanosUntilDue(6 * SECOND)).isEqualTo(Long.MAX_VALUE);

        coordinator.announce(1, wants(new Request.Barrier("b", 1_000)), 7 * SECOND);
        assertThat(batches(coordinator))
                .extracting(Batches::verdict, Batches::error)
                .containsExactly(tuple(Batch.Reason.TIMED_OUT, Batches.error(over)));
    }

    @Test
    void strictModeNamesTheFirstCallThatDiffersWithBothLines() {
        Coordinator coordinator = two(settings(8, 0, true));
        coordinator.announce(0, called(sum("a", 4), "Train.one(Train.java:1)"), 0);
        coordinator.announce(1, called(sum("a", 4), "Train.one(Train.java:1)"), 0);
        assertThat(batches(coordinator)).extracting(Batches::verdict).containsExactly(Batch.Allreduce.class);
        coordinator.announce(0, called(sum("b", 4), "Train.two(Train.java:2)"), 0);
        coordinator.announce(0, called(sum("c", 4), "Train.three(Train.java:3)"), 0);
        coordinator.announce(1, called(sum("c", 4), "Train.three(Train.java:3)"), 0);
        assertThat(batches(coordinator))
                .allSatisfy(batch -> assertThat(Batches.error(batch))
                        .contains("call 2", "\"b\" at Train.two(Train.java:2) on ranks {0}")
                        .contains("\"c\" at Train.three(Train.java:3) on ranks {1}"))
                .extracting(Batch::names)
                .containsExactlyInAnyOrder(List.of("b"), List.of("c"));
    }

    @Test
    void whatHasArrivedOfAGroupIsRefusedWithTheRestOfIt() {
        Request.Group group = new Request.Group("g", 2);
        Coordinator strict = two(settings(8, 0, true));
        for (int rank = 0; rank < 2; rank++) {
            strict.announce(rank, called(sum("a", 4, group), "Train.one(Train.java:1)"), 0);
            assertThat(strict.next(0)).isEmpty();
        }
        strict.announce(0, called(sum("b", 4, group), "Train.two(Train.java:2)"), 0);
        strict.announce(1, called(sum("c", 4, group), "Train.three(Train.java:3)"), 0);
        assertThat(batches(strict))
                .allSatisfy(batch -> assertThat(Batches.error(batch)).contains("call 2", "\"b\"", "\"c\""))
                .extracting(Batch::names)
                .containsExactlyInAnyOrder(List.of("a"), List.of("b"), List.of("c"));

        Coordinator lenient = two(settings(8, 0, false));
        lenient.announce(0, wants(sum("a", 4, group), sum("b", 4, group)), 0);
        lenient.announce(1, closes(sum("a", 4, group)), 0);
        assertThat(batches(lenient))
                .extracting(Batch::names, Batches::verdict)
                .containsExactlyInAnyOrder(
                        tuple(List.of("a"), Batch.Reason.RANK_GONE), tuple(List.of("b"), Batch.Reason.RANK_GONE));
    }

    @Test
    void strictModeTellsWhoWaitsForARankThatHasClosed() {
        for (boolean before : List.of(true, false)) {
            Coordinator coordinator = two(settings(8, 0, true));
            if (before) {
                coordinator.announce(1, closes(), 0);
            }
            coordinator.announce(0, called(sum("b", 4), "Train.two(Train.java:2)"), 0);
            if (!before) {
                assertThat(coordinator.next(0)).isEmpty();
                coordinator.announce(1, closes(), 0);
            }
            assertThat(batches(coordinator)).singleElement().satisfies(batch -> {
                assertThat(Batches.verdict(batch)).isEqualTo(Batch.Reason.RANK_GONE);
                assertThat(Batches.error(batch)).contains("\"b\" at Train.two(Train.java:2)", "{1}", "closed");
            });
        }
    }

    /** Backward may compute gradients in another order on each rank, before or after a call of the program's. */
    @Test
    void strictModeComparesCallsThatTheProgramDoesNotOrderByNameAndTheOthersByPlace() {
        Coordinator coordinator = two(settings(8, 0, true));
        coordinator.announce(0, called(sum("g1", 4), ""), 0);
        coordinator.announce(0, called(sum("loss", 1), "Train.loss(Train.java:1)"), 0);
        coordinator.announce(0, called(sum("g2", 4), ""), 0);
        assertThat(coordinator.next(0)).isEmpty();
        coordinator.announce(1, called(sum("g2", 4), ""), 0);
        coordinator.announce(1, called(sum("g1", 4), ""), 0);
        coordinator.announce(1, called(sum("loss", 1), "Train.loss(Train.java:1)"), 0);
        assertThat(batches(coordinator))
                .allMatch(batch -> batch instanceof Batch.Allreduce)
                .flatExtracting(Batch::names)
                .containsExactlyInAnyOrder("g1", "g2", "loss");

        coordinator.announce(0, called(sum("g1", 4), ""), 0);
        coordinator.announce(0, called(sum("a", 4), "Train.one(Train.java:1)"), 0);
        coordinator.announce(1, called(sum("b", 4), "Train.two(Train.java:2)"), 0);
        coordinator.announce(1, called(sum("g1", 8), ""), 0);
        assertThat(batches(coordinator))
                .extracting(Batches::error)
                .anyMatch(error -> error.contains("strict mode") && error.contains("call 2") && error.contains("\"b\""))
                .anyMatch(error -> error.contains("\"g1\"") && error.contains("shape"));
    }

    @Test
    void strictModeGivesUpABarrierInTime() {
        Coordinator coordinator = two(settings(8, 0, true));
        coordinator.announce(0, called(new Request.Barrier("limited", 10), "Train.two(Train.java:2)"), 0);
        assertThat(coordinator.nanosUntilDue(0)).isEqualTo(TimeUnit.MILLISECONDS.toNanos(10));
        assertThat(coordinator.next(TimeUnit.MILLISECONDS.toNanos(10)))
                .flatMap(Plan::batches)
                .singleElement()
                .satisfies(batch -> {
                    assertThat(Batches.verdict(batch)).isEqualTo(Batch.Reason.TIMED_OUT);
                    assertThat(Batches.error(batch)).contains("10 ms", "{1}");
                });
    }

    @Test
    void processSetsComeAndGoInTheOrderOfThePlans() {
        Coordinator coordinator = new Coordinator(3, List.of(), settings(8, 0, false));
        for (int rank = 0; rank < 3; rank++) {
            coordinator.announce(rank, wants(new Request.AddProcessSet("add", List.of(0, 2))), 0);
        }
        assertThat(batches(coordinator)).containsExactly(new Batch.AddProcessSet("add", 1, List.of(0, 2)));
        assertThat(coordinator.members(1)).containsExactly(0, 2);

        for (int rank = 0; rank < 3; rank++) {
            coordinator.announce(rank, wants(new Request.AddProcessSet("again", List.of(0, 2))), 0);
        }
        assertThat(batches(coordinator))
                .extracting(Batches::verdict, Batches::error)
                .singleElement()
                .asString()
                .contains("BAD_ARGUMENT", "{0, 2}", "number 1");

        for (int rank : new int[] {0, 2}) {
            Wishes wishes = new Wishes(1, 0, 0, new BitSet(), List.of(sum("a", 4)), List.of());
            coordinator.announce(rank, new Announcement(List.of(wishes), false, ""), 0);
        }
        assertThat(coordinator.next(0))
                .extracting(Plan::set, Plan::batches)
                .containsExactly(tuple(1, List.of(new Batch.Allreduce(List.of(Plan.Op.named("a")), 2))));

        for (int rank = 0; rank < 3; rank++) {
            coordinator.announce(rank, wants(new Request.RemoveProcessSet("remove", 1)), 0);
        }
        assertThat(batches(coordinator)).containsExactly(new Batch.RemoveProcessSet("remove", 1));
    }

    @Test
    void differentMembersOfANewSetAreNamed() {
        Coordinator coordinator = two(settings(8, 0, false));
        coordinator.announce(0, wants(new Request.AddProcessSet("add", List.of(0))), 0);
        coordinator.announce(1, wants(new Request.AddProcessSet("add", List.of(1))), 0);
        assertThat(batches(coordinator))
                .singleElement()
                .extracting(Batches::error)
                .asString()
                .contains("members", "[0] on ranks {0}", "[1] on ranks {1}");
    }

    @Test
    void aClosedRankIsGoneFromEverySet() {
        Coordinator coordinator = new Coordinator(3, List.of(List.of(1, 2)), settings(8, 0, false));
        coordinator.announce(2, closes(), 0);
        Wishes wishes = new Wishes(1, 0, 0, new BitSet(), List.of(sum("a", 4)), List.of());
        coordinator.announce(1, new Announcement(List.of(wishes), false, ""), 0);
        assertThat(coordinator.next(0).get(0).batches())
                .extracting(Batches::verdict, Batches::error)
                .singleElement()
                .asString()
                .contains("RANK_GONE", "{2}");
    }

    @Test
    void aSetThatComesAfterARankHasClosedKnowsOfThat() {
        Coordinator coordinator = new Coordinator(3, List.of(), settings(8, 0, false));
        Request add = new Request.AddProcessSet("add", List.of(0, 1));
        coordinator.announce(1, closes(add), 0);
        coordinator.announce(0, wants(add), 0);
        coordinator.announce(2, wants(add), 0);
        coordinator.next(0);
        Wishes wishes = new Wishes(1, 0, 0, new BitSet(), List.of(sum("a", 4)), List.of());
        coordinator.announce(0, new Announcement(List.of(wishes), false, ""), 0);
        assertThat(batches(coordinator)).extracting(Batches::verdict).containsExactly(Batch.Reason.RANK_GONE);
    }

    @Test
    void transfersNeedTheirTwoRanksOnly() {
        Coordinator coordinator = new Coordinator(3, List.of(), settings(8, 0, false));
        Tensor tensor = Tensor.of(1, 2);
        Request send = Request.send("t", tensor, 2);
        Request receive = Request.receive("t", tensor, 0);
        coordinator.announce(0, wants(send), 0);
        assertThat(coordinator.next(0)).isEmpty();
        coordinator.announce(2, wants(receive), 0);
        assertThat(batches(coordinator)).containsExactly(new Batch.Transfer("t"));
    }
}
