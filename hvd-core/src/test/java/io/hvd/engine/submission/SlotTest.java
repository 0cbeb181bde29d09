package io.hvd.engine.submission;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.engine.message.Plan;
import io.hvd.engine.message.Request;
import io.hvd.engine.message.Requests;
import io.hvd.error.ShutdownException;
import io.hvd.trace.FlightRecorder;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A line that is found is a text of its own, so that one that was not looked for is the very text of before. */
class SlotTest {
    private final TensorQueue queue = new TensorQueue(1 << 20, 0);
    private final FlightRecorder recorder = new FlightRecorder(4);

    private PendingOp op(int set, String name, int elements) {
        return Ops.op(queue, set, Requests.sum(name, 4L * elements), null, recorder);
    }

    /** Submits it and takes it out again. */
    private PendingOp passed(int set, String name, int elements) {
        PendingOp op = op(set, name, elements);
        recorder.submitted(List.of(op));
        queue.submit(List.of(op), false, false);
        queue.drainFresh();
        queue.take(List.of(op));
        return op;
    }

    @Test
    void theLineOfACallIsLookedForOnceAndEveryCallCounts() {
        PendingOp first = passed(0, "a", 1);
        PendingOp other = passed(0, "b", 1);
        PendingOp again = passed(0, "a", 1);

        assertThat(again.call().site()).isSameAs(first.call().site());
        assertThat(again.call().number()).isEqualTo(3);
        assertThat(again.call().isPending()).isTrue();
        assertThat(other.site()).isEqualTo(first.site()).isNotSameAs(first.site());
    }

    @Test
    void aCallThatAsksForSomethingElseMayComeFromAnotherLine() {
        PendingOp first = passed(0, "a", 1);
        assertThat(passed(0, "a", 2).site()).isNotSameAs(first.site());
        assertThat(passed(7, "a", 1).site()).isNotSameAs(first.site());
        assertThat(passed(7, "a", 1).operation().processSet()).isEqualTo(7);
        assertThat(passed(0, "a", 2).operation().detail()).isEqualTo("float32[2]");
    }

    @Test
    void inStrictModeEveryLineIsLookedFor() {
        Slot slot = queue.slot(0, "a");
        Request request = Requests.sum("a", 4);
        String first = slot.ask(request, List.of(0), true).site();
        assertThat(slot.ask(request, List.of(0), true).site()).isNotSameAs(first);
    }

    private void fill() {
        for (int i = 0; i < 2 * SlotTable.MOST_IDLE_NAMES; i++) {
            passed(0, "noname." + i, 1);
        }
    }

    @Test
    void namesThatNeverComeAgainDoNotFillTheMemory() {
        Slot first = queue.slot(0, "a");
        fill();
        assertThat(queue.slot(0, "a")).isNotSameAs(first);
        assertThat(first.retired).isTrue();
    }

    @Test
    void whatIsPreparedOrRememberedOrUnderWayKeepsItsSlot() {
        Slot prepared = queue.keep(0, "prepared");
        Slot remembered = queue.slot(0, "remembered");
        remembered.remember(3, Requests.sum("remembered", 4));
        PendingOp pending = op(0, "pending", 1);
        queue.submit(List.of(pending), false, false);
        fill();
        assertThat(queue.slot(0, "prepared")).isSameAs(prepared);
        assertThat(queue.slot(0, "remembered")).isSameAs(remembered);
        assertThat(queue.slot(0, "pending")).isSameAs(pending.slot());

        queue.release(prepared);
        remembered.forget(3);
        queue.take(List.of(pending));
        fill();
        assertThat(List.of(prepared, remembered, pending.slot())).allMatch(slot -> slot.retired);
    }

    /** Else two operations of one name could be under way in two slots. */
    @Test
    void anOperationThatFoundItsSlotBeforeItWasForgottenMovesToTheNewOne() {
        PendingOp early = op(0, "a", 1);
        fill();
        Slot now = queue.slot(0, "a");
        assertThat(now).isNotSameAs(early.slot());
        queue.submit(List.of(early), false, false);
        assertThat(early.slot()).isSameAs(now);
        assertThat(queue.find(0, "a")).containsSame(early);
    }

    @Test
    void theSlotsOfAProcessSetGoWithIt() {
        Slot slot = queue.slot(5, "a");
        queue.abandon(5, new ShutdownException("removed"));
        assertThat(slot.retired).isTrue();
        assertThat(queue.slot(5, "a")).isNotSameAs(slot);
    }

    @Test
    void anOutdatedNumberForgetsNothing() {
        Slot slot = queue.slot(0, "a");
        Request request = Requests.sum("a", 4);
        slot.remember(3, request);
        slot.remember(9, Requests.sum("a", 8));
        slot.forget(3);
        assertThat(slot.numberOf(Requests.sum("a", 8))).isEqualTo(9);
        assertThat(slot.numberOf(request)).isEqualTo(Plan.Op.UNKNOWN);
        slot.forget(9);
        assertThat(slot.isRemembered()).isFalse();
    }

    @Test
    void aCallIsKnownByItsTypeAndShapeWhereThereIsATensor() {
        assertThat(queue.slot(0, "a")
                        .ask(Requests.sum("a", 16), List.of(0), false)
                        .operation()
                        .detail())
                .isEqualTo("float32[4]");
        assertThat(queue.slot(0, "w")
                        .ask(new Request.Barrier("w", 0), List.of(0), false)
                        .operation()
                        .detail())
                .isEmpty();
    }
}
