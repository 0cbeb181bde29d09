package io.hvd.engine.submission;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.engine.message.Requests;
import io.hvd.error.DuplicateNameException;
import io.hvd.error.ErrorId;
import io.hvd.error.ShutdownException;
import io.hvd.trace.FlightRecorder;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class TensorQueueTest {
    private static final long HOUR = TimeUnit.HOURS.toNanos(1);

    private final TensorQueue queue = new TensorQueue(100, HOUR);

    private PendingOp op(String name, long bytes) {
        return op(queue, 0, name, bytes);
    }

    private static PendingOp op(TensorQueue queue, int set, String name, long bytes) {
        return Ops.op(queue, set, Requests.sum(name, bytes), null, new FlightRecorder(1));
    }

    private static List<String> names(List<PendingOp> ops) {
        return ops.stream().map(PendingOp::name).toList();
    }

    @Test
    void handsOverWhatIsFreshOnceAndInOrder() {
        queue.submit(List.of(op("b", 4)), false, false);
        queue.submit(List.of(op("a", 4), op("c", 4)), false, false);
        assertThat(names(queue.drainFresh())).containsExactly("b", "a", "c");
        assertThat(queue.drainFresh()).isEmpty();
    }

    /** Else the communication thread would sleep through whatever comes after an operation of a set that is gone. */
    @Test
    void whatComesAfterAnAbandonedOperationWakesTheCommunicationThread() {
        for (boolean hurry : List.of(true, false)) {
            TensorQueue twoSets = new TensorQueue(100, HOUR);
            PendingOp gone = op(twoSets, 1, "gone", 4);
            assertThat(twoSets.submit(List.of(gone), true, false)).isTrue();
            twoSets.abandon(1, new ShutdownException("removed"));
            assertThat(twoSets.nanosUntilDue()).isEqualTo(Long.MAX_VALUE);
            assertThat(twoSets.submit(List.of(op(twoSets, 0, "next", 4)), hurry, false))
                    .isTrue();
        }
    }

    /** The thread that submits it has still seen the plan. */
    @Test
    void whatIsSubmittedToAPlanThatHasJustEndedWakesTheCommunicationThread() {
        queue.rest(3);
        assertThat(queue.submit(List.of(op("part", 4)), false, true)).isFalse();
        queue.drainAll();
        queue.restWithoutPlan();
        assertThat(queue.submit(List.of(op("late", 4)), false, true)).isTrue();
    }

    @Test
    void anOperationStaysPendingUntilItIsTaken() {
        PendingOp a = op("a", 4);
        queue.submit(List.of(a), false, false);
        queue.drainFresh();
        assertThat(queue.takeIfPending(0, "a")).containsSame(a);
        assertThat(queue.takeIfPending(0, "a")).isEmpty();
    }

    @Test
    void aNameInUseIsRefusedBeforeAndAfterItIsAnnouncedAndTheFirstGoesOn() {
        PendingOp first = op("a", 4);
        queue.submit(List.of(first), false, false);
        for (int round = 0; round < 2; round++) {
            assertThatThrownBy(() -> queue.submit(List.of(op("a", 8)), false, false))
                    .isInstanceOf(DuplicateNameException.class)
                    .hasMessageContainingAll("HVD-302", "\"a\"", "allreduce");
            assertThat(names(queue.drainFresh())).hasSize(1 - round);
        }
        assertThat(queue.takeIfPending(0, "a")).containsSame(first);
        assertThat(first.isDone()).isFalse();
        assertThat(queue.submit(List.of(op("a", 8)), false, false))
                .as("free again")
                .isTrue();
    }

    @Test
    void ofAGroupWithANameInUseNothingIsTaken() {
        queue.submit(List.of(op("b", 4)), false, false);
        queue.drainFresh();
        assertThatThrownBy(() -> queue.submit(List.of(op("a", 40), op("b", 40), op("c", 40)), true, false))
                .isInstanceOf(DuplicateNameException.class)
                .hasMessageContaining("\"b\"");
        assertThat(queue.drainFresh()).isEmpty();
        assertThat(queue.nanosUntilDue()).isEqualTo(Long.MAX_VALUE);
        assertThat(queue.takeIfPending(0, "a")).isEmpty();
        assertThat(queue.takeIfPending(0, "c")).isEmpty();
        assertThat(queue.takeIfPending(0, "b")).isPresent();
    }

    @Test
    void aGroupThatNamesATensorTwiceIsRefusedAsAWhole() {
        assertThatThrownBy(() -> queue.submit(List.of(op("a", 4), op("a", 4)), false, false))
                .isInstanceOf(DuplicateNameException.class);
        assertThat(queue.takeIfPending(0, "a")).isEmpty();
        assertThat(queue.drainFresh()).isEmpty();
    }

    @Test
    void nothingIsDueWhenThereIsNothing() {
        assertThat(queue.nanosUntilDue()).isEqualTo(Long.MAX_VALUE);
        assertThat(queue.hurry()).isFalse();
        queue.submit(List.of(op("a", 4)), false, false);
        assertThat(queue.nanosUntilDue())
                .as("the hurry before it came does not count")
                .isPositive();
    }

    @Test
    void whatNobodyWaitsForMayLingerAndNoLonger() {
        queue.submit(List.of(op("a", 4)), false, false);
        assertThat(queue.nanosUntilDue()).isPositive().isLessThanOrEqualTo(HOUR);
        TensorQueue impatient = new TensorQueue(100, 0);
        impatient.submit(List.of(op(impatient, 0, "a", 4)), false, false);
        assertThat(impatient.nanosUntilDue()).isZero();
    }

    @Test
    void operationsOfAStaticPlanWakeNobodyUntilThereAreEnoughForItsNextBatch() {
        assertThat(queue.rest(2)).isTrue();
        assertThat(queue.submit(List.of(op("a", 4)), false, true)).isFalse();
        assertThat(queue.submit(List.of(op("b", 4)), false, true)).isTrue();
        assertThat(queue.submit(List.of(op("c", 4)), false, true))
                .as("woken already")
                .isFalse();
        assertThat(queue.rest(2)).as("there are three").isFalse();
        queue.drainFresh();
        assertThat(queue.submit(List.of(op("d", 4), op("e", 4)), false, true))
                .as("whoever has drained looks again before he sleeps")
                .isFalse();
    }

    @Test
    void whatIsNotPlannedOrAwaitedWakesAtOnceWhateverThePlanLacks() {
        queue.rest(5);
        assertThat(queue.submit(List.of(op("a", 4)), false, true)).isFalse();
        assertThat(queue.submit(List.of(op("b", 4)), false, false)).isTrue();
        queue.drainFresh();
        queue.rest(5);
        assertThat(queue.submit(List.of(op("c", 4)), false, true)).isFalse();
        assertThat(queue.hurry()).isTrue();
        queue.drainFresh();
        queue.rest(5);
        assertThat(queue.submit(List.of(op("d", 4)), true, true)).isTrue();
    }

    @Test
    void theFirstIsCountedNotTheLast() {
        queue.submit(List.of(op("a", 4)), false, false);
        long afterFirst = queue.nanosUntilDue();
        queue.submit(List.of(op("b", 4)), false, false);
        assertThat(queue.nanosUntilDue()).isLessThanOrEqualTo(afterFirst);
    }

    @Test
    void whatSomebodyWaitsForIsDueAtOnce() {
        assertThat(queue.submit(List.of(op("a", 4)), true, false)).isTrue();
        assertThat(queue.nanosUntilDue()).isZero();
        queue.drainFresh();
        queue.submit(List.of(op("b", 4)), false, false);
        assertThat(queue.nanosUntilDue())
                .as("the next one is not urgent by itself")
                .isPositive();
        assertThat(queue.hurry()).isTrue();
        assertThat(queue.nanosUntilDue()).isZero();
        assertThat(queue.hurry()).as("nobody need be woken twice").isFalse();
    }

    @Test
    void aFullBufferIsDueAtOnceAndItsBytesAreForgottenWhenItIsDrained() {
        queue.submit(List.of(op("a", 60)), false, false);
        assertThat(queue.nanosUntilDue()).isPositive();
        queue.submit(List.of(op("b", 40)), false, false);
        assertThat(queue.nanosUntilDue()).isZero();
        queue.drainFresh();
        queue.submit(List.of(op("c", 60)), false, false);
        assertThat(queue.nanosUntilDue()).isPositive();
    }

    @Test
    void theCommunicationThreadIsWokenForTheFirstAndWhenItBecomesUrgentOnly() {
        assertThat(queue.submit(List.of(op("a", 4)), false, false)).as("first").isTrue();
        assertThat(queue.submit(List.of(op("b", 4)), false, false)).as("second").isFalse();
        assertThat(queue.submit(List.of(op("c", 4)), true, false)).as("urgent").isTrue();
        assertThat(queue.submit(List.of(op("d", 4)), true, false))
                .as("urgent already")
                .isFalse();
    }

    @Test
    void closingFailsWhatIsFreshAndWhatIsAnnouncedAndRefusesTheRestWithTheSameCause() {
        PendingOp announced = op("announced", 4);
        PendingOp fresh = op("fresh", 4);
        PendingOp taken = op("taken", 4);
        queue.submit(List.of(announced, taken), false, false);
        queue.drainFresh();
        queue.take(List.of(taken));
        queue.submit(List.of(fresh), false, false);
        ShutdownException cause = new ShutdownException("rank 3 is gone");
        queue.close(cause);

        for (PendingOp op : List.of(announced, fresh)) {
            assertThatThrownBy(op::join).hasCause(cause);
        }
        assertThat(taken.isDone()).as("in other hands already").isFalse();
        assertThatThrownBy(() -> queue.submit(List.of(op("late", 4)), false, false))
                .hasCause(cause);
        assertThat(cause.id()).isEqualTo(ErrorId.SHUT_DOWN);
        assertThat(queue.drainFresh()).isEmpty();
        assertThat(queue.takeIfPending(0, "late")).isEmpty();
    }

    @Test
    void theFirstCauseOfClosingCounts() {
        ShutdownException first = new ShutdownException("first");
        queue.close(first);
        queue.close(new ShutdownException("second"));
        assertThatThrownBy(() -> queue.submit(List.of(op("a", 4)), false, false))
                .hasCause(first);
    }

    @Test
    @Timeout(30)
    void callbacksOfFailedOperationsRunOutsideTheLock() throws Exception {
        PendingOp op = op("a", 4);
        queue.submit(List.of(op), false, false);
        ExecutorService other = Executors.newSingleThreadExecutor();
        try {
            List<Long> seen = new ArrayList<>();
            op.whenDone(() -> {
                try {
                    seen.add(other.submit(queue::nanosUntilDue).get());
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            queue.close(new ShutdownException("over"));
            assertThat(seen).containsExactly(Long.MAX_VALUE);
        } finally {
            other.shutdownNow();
        }
    }

    @Test
    @Timeout(30)
    void ofManyThreadsWithOneNameExactlyOneGetsIn() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            for (int round = 0; round < 200; round++) {
                String name = "t" + round;
                Callable<Boolean> submission = () -> {
                    try {
                        queue.submit(List.of(op(name, 4)), false, false);
                        return true;
                    } catch (DuplicateNameException e) {
                        return false;
                    }
                };
                int accepted = 0;
                for (Future<Boolean> result :
                        threads.invokeAll(List.of(submission, submission, submission, submission))) {
                    accepted += result.get() ? 1 : 0;
                }
                assertThat(accepted).isEqualTo(1);
            }
            assertThat(queue.drainFresh()).hasSize(200);
        } finally {
            threads.shutdownNow();
        }
    }
}
