package io.hvd.engine.coordination;

import static io.hvd.engine.message.Requests.breaks;
import static io.hvd.engine.message.Requests.closes;
import static io.hvd.engine.message.Requests.gather;
import static io.hvd.engine.message.Requests.sum;
import static io.hvd.engine.message.Requests.wants;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.engine.message.Announcement;
import io.hvd.engine.message.Batch;
import io.hvd.engine.message.Batches;
import io.hvd.engine.message.Plan;
import io.hvd.engine.message.Request;
import io.hvd.engine.message.Requests;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import java.util.List;
import org.junit.jupiter.api.Test;

/** One process set; what the coordinator decides is looked at as one plan. */
class CoordinatorTest {
    private final Table three = new Table(3, 1 << 20);

    /** A coordinator at an unchanging time. */
    private static final class Table {
        private final Coordinator coordinator;

        Table(int size, long threshold) {
            coordinator = new Coordinator(size, List.of(), Requests.settings(threshold, 0));
        }

        void announce(int rank, Announcement announcement) {
            coordinator.announce(rank, announcement, 0);
        }

        void lose(int rank, String why) {
            coordinator.lose(rank, why);
        }

        /** At most one plan of operations, and at most one that ends it all. */
        Plan next() {
            List<Plan> plans = coordinator.next(0);
            return new Plan(
                    0,
                    plans.stream().flatMap(plan -> plan.batches().stream()).toList(),
                    List.of(),
                    plans.stream().anyMatch(Plan::stop),
                    plans.stream().map(Plan::failure).reduce("", String::concat));
        }
    }

    private static List<List<String>> names(Plan plan) {
        return plan.batches().stream().map(Batch::names).toList();
    }

    @Test
    void anOperationRunsOnlyWhenEveryRankHasAskedForIt() {
        three.announce(2, wants(sum("a", 4)));
        assertThat(three.next().isEmpty()).isTrue();
        three.announce(0, wants(sum("a", 4)));
        assertThat(three.next().isEmpty()).isTrue();
        three.announce(1, wants(sum("a", 4)));
        assertThat(names(three.next())).containsExactly(List.of("a"));
        assertThat(three.next().isEmpty())
                .as("what was planned is not planned again")
                .isTrue();
    }

    @Test
    void ranksMayAskInDifferentOrders() {
        three.announce(0, wants(sum("a", 4), sum("b", 4), sum("c", 4)));
        three.announce(1, wants(sum("c", 4), sum("a", 4), sum("b", 4)));
        three.announce(2, wants(sum("b", 4)));
        assertThat(names(three.next())).containsExactly(List.of("b"));
        three.announce(2, wants(sum("c", 4), sum("a", 4)));
        assertThat(names(three.next())).containsExactly(List.of("c", "a"));
    }

    @Test
    void plansKeepTheOrderInWhichOperationsBecameComplete() {
        Table unfused = new Table(2, 0);
        unfused.announce(0, wants(sum("a", 4), sum("b", 4), sum("c", 4)));
        unfused.announce(1, wants(sum("c", 4), sum("b", 4), sum("a", 4)));
        assertThat(names(unfused.next())).containsExactly(List.of("c"), List.of("b"), List.of("a"));
    }

    @Test
    void theSameAnnouncementsGiveTheSamePlan() {
        Table again = new Table(3, 1 << 20);
        for (Table negotiation : List.of(three, again)) {
            for (int rank : new int[] {1, 0, 2}) {
                negotiation.announce(
                        rank, wants(sum("x", 8), gather("g", DType.INT8, rank, 2), new Request.Barrier("w", 0)));
            }
        }
        Plan plan = three.next();
        assertThat(plan).isEqualTo(again.next());
        assertThat(plan.batches()).hasSize(3);
    }

    @Test
    void anAllgatherCarriesTheRowsOfEveryRankInRankOrder() {
        three.announce(2, wants(gather("g", DType.FLOAT32, 30, 5)));
        three.announce(0, wants(gather("g", DType.FLOAT32, 10, 5)));
        three.announce(1, wants(gather("g", DType.FLOAT32, 0, 5)));
        assertThat(three.next().batches()).containsExactly(new Batch.Allgather("g", List.of(10L, 0L, 30L), true));
    }

    @Test
    void aMismatchIsRefusedEverywhereAndItsNameCanBeUsedAgain() {
        three.announce(0, wants(sum("a", 4)));
        three.announce(1, wants(sum("a", 8)));
        three.announce(2, wants(sum("a", 4), sum("b", 4)));
        Plan plan = three.next();
        assertThat(plan.batches()).hasSize(1);
        Batch refused = plan.batches().get(0);
        assertThat(Batches.verdict(refused)).isEqualTo(Batch.Reason.MISMATCH);
        assertThat(refused.names()).containsExactly("a");
        assertThat(Batches.error(refused)).contains("\"a\"", "[1] on ranks {0, 2}", "[2] on ranks {1}");
        assertThat(plan.failure()).isEmpty();

        for (int rank = 0; rank < 3; rank++) {
            three.announce(rank, rank < 2 ? wants(sum("a", 8), sum("b", 4)) : wants(sum("a", 8)));
        }
        assertThat(names(three.next())).containsExactly(List.of("b", "a"));
    }

    @Test
    void aMismatchDoesNotHoldUpItsNeighbours() {
        for (int rank = 0; rank < 3; rank++) {
            three.announce(
                    rank,
                    wants(
                            sum("before", 4),
                            Requests.allreduce("odd", rank == 1 ? DType.INT8 : DType.UINT8, Shape.of(1), ReduceOp.SUM),
                            sum("after", 4)));
        }
        assertThat(three.next().batches())
                .extracting(Batch::names, Batches::verdict)
                .containsExactlyInAnyOrder(
                        org.assertj.core.groups.Tuple.tuple(List.of("odd"), Batch.Reason.MISMATCH),
                        org.assertj.core.groups.Tuple.tuple(List.of("before", "after"), Batch.Allreduce.class));
    }

    @Test
    void whatWaitsForAClosedRankIsRefusedAndTheClosedOnesAreNamed() {
        three.announce(0, wants(sum("a", 4)));
        three.announce(2, wants(sum("a", 4)));
        assertThat(three.next().isEmpty()).isTrue();
        three.announce(1, closes());
        Plan plan = three.next();
        assertThat(plan.stop()).isFalse();
        assertThat(plan.batches()).hasSize(1);
        Batch refused = plan.batches().get(0);
        assertThat(Batches.verdict(refused)).isEqualTo(Batch.Reason.RANK_GONE);
        assertThat(refused.names()).containsExactly("a");
        assertThat(Batches.error(refused)).contains("\"a\"", "ranks {1} have closed");
        assertThat(((Batch.Refusal) refused).askers())
                .as("said to those who asked")
                .containsExactly(0, 2);
        assertThat(three.next().isEmpty()).isTrue();
    }

    @Test
    void whatIsAskedForAfterARankHasClosedIsRefusedToo() {
        three.announce(0, closes());
        three.announce(2, closes());
        assertThat(three.next().isEmpty()).isTrue();
        three.announce(1, wants(sum("late", 4)));
        assertThat(three.next().batches())
                .extracting(Batches::error)
                .singleElement()
                .asString()
                .contains("\"late\"", "ranks {0, 2} have closed");
    }

    @Test
    void whatARankAskedForBeforeItClosedStillRuns() {
        three.announce(1, closes(sum("a", 4)));
        assertThat(three.next().isEmpty()).isTrue();
        three.announce(0, wants(sum("a", 4)));
        assertThat(three.next().isEmpty()).as("rank 2 may still come").isTrue();
        three.announce(2, wants(sum("a", 4)));
        assertThat(three.next().batches())
                .extracting(Batch::names, Batches::verdict)
                .containsExactly(org.assertj.core.groups.Tuple.tuple(List.of("a"), Batch.Allreduce.class));
    }

    @Test
    void stopsOnceWhenAllRanksHaveClosed() {
        three.announce(0, closes());
        three.announce(1, closes());
        assertThat(three.next().stop()).isFalse();
        three.announce(2, closes(sum("a", 4)));
        Plan last = three.next();
        assertThat(last.stop()).isTrue();
        assertThat(last.failure()).isEmpty();
        assertThat(last.batches())
                .extracting(Batches::verdict)
                .as("nothing is left waiting")
                .containsExactly(Batch.Reason.RANK_GONE);
        assertThat(three.next().isEmpty()).isTrue();
    }

    @Test
    void aLostRankFailsTheJobAndTheFirstCauseWins() {
        three.announce(0, wants(sum("a", 4)));
        three.lose(1, "its process has ended");
        three.lose(2, "its process has ended too");
        three.announce(0, breaks("rank 0 gave up"));
        Plan plan = three.next();
        assertThat(plan.failure())
                .contains("rank 1", "its process has ended")
                .doesNotContain("rank 2")
                .doesNotContain("gave up");
        assertThat(plan.batches()).isEmpty();
        assertThat(plan.stop()).isFalse();
    }

    @Test
    void aRanksOwnFailureIsPassedOnAsItIs() {
        three.announce(2, breaks("rank 2 on host c: out of memory"));
        three.lose(2, "its process has ended");
        assertThat(three.next().failure()).isEqualTo("rank 2 on host c: out of memory");
    }

    @Test
    void aFailureIsToldOnce() {
        three.lose(1, "gone");
        assertThat(three.next().failure()).isNotEmpty();
        assertThat(three.next().isEmpty()).isTrue();
        assertThat(three.next().isEmpty()).isTrue();
    }

    @Test
    void aRankThatHasClosedIsWaitedForAllTheSame() {
        three.announce(1, closes());
        three.lose(1, "its process has ended");
        assertThat(three.next().failure()).isEqualTo("rank 1 is gone: its process has ended");
    }

    @Test
    void whoIsLostAfterAllHaveClosedAndBeforeAllAreDoneFailsTheJob() {
        List.of(0, 1, 2).forEach(rank -> three.announce(rank, closes()));
        assertThat(three.next().stop()).isTrue();
        three.announce(1, Announcement.ofTheEnd());
        three.announce(0, Announcement.ofTheEnd());
        assertThat(three.next().isEmpty()).isTrue();
        three.lose(1, "its process has ended");
        assertThat(three.next().failure()).isEqualTo("rank 1 is gone: its process has ended");
        assertThat(three.next().isEmpty()).isTrue();
    }

    @Test
    void afterAllAreDoneTheRanksGoAndNothingCounts() {
        List.of(0, 1, 2).forEach(rank -> three.announce(rank, closes()));
        assertThat(three.next().stop()).isTrue();
        List.of(2, 0, 1).forEach(rank -> three.announce(rank, Announcement.ofTheEnd()));
        assertThat(three.next().stop()).isTrue();
        three.lose(0, "its process has ended");
        assertThat(three.next().isEmpty()).isTrue();
    }
}
