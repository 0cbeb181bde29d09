package io.hvd.engine.submission;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.engine.message.Request;
import io.hvd.engine.message.Requests;
import io.hvd.trace.FlightRecorder;
import java.util.List;
import org.junit.jupiter.api.Test;

class PendingListTest {
    private final SlotTable slots = new SlotTable();
    private final PendingList list = new PendingList();
    private final PendingOp a = appended(Requests.sum("a", 4));
    private final PendingOp b = appended(Requests.sum("b", 4));
    private final PendingOp c = appended(Requests.sum("c", 4));

    private PendingOp appended(Request request) {
        Slot slot = slots.get(0, request.name());
        PendingOp op =
                new PendingOp(slot, slot.ask(request, List.of(0), false), null, null, new FlightRecorder(1), null);
        slot.pending = op;
        list.append(op);
        return op;
    }

    private List<PendingOp> all() {
        return list.all(op -> true);
    }

    @Test
    void keepsTheOrderOfSubmissionWhereverOneLeaves() {
        assertThat(all()).containsExactly(a, b, c);
        list.remove(b);
        assertThat(all()).containsExactly(a, c);
        list.remove(a);
        assertThat(all()).containsExactly(c);
        PendingOp d = appended(Requests.sum("d", 4));
        list.remove(c);
        assertThat(all()).containsExactly(d);
    }

    @Test
    void aNameIsFreeAgainOnceItsOperationHasBeenRemoved() {
        assertThat(a.slot().pending).isSameAs(a);
        list.remove(List.of(a, c));
        assertThat(a.slot().pending).isNull();
        assertThat(all()).containsExactly(b);
    }

    @Test
    void nobodyIsWaitedForOnceWhatHeWaitsForIsRemoved() {
        list.await(b);
        list.await(b);
        assertThat(list.isAwaited()).isTrue();
        list.remove(b);
        assertThat(list.isAwaited()).isFalse();
    }

    @Test
    void whatHasEndedIsNotAwaited() {
        list.remove(a);
        list.await(a);
        assertThat(list.isAwaited()).isFalse();
    }

    @Test
    void onlyABarrierWithALimitIsLimitedAndItIsNotAwaited() {
        appended(new Request.Barrier("for.ever", 0));
        assertThat(list.hasLimited()).isFalse();
        assertThat(list.nanosUntilOverdue()).isEqualTo(Long.MAX_VALUE);

        PendingOp limited = appended(new Request.Barrier("limited", 60_000));
        list.await(limited);
        assertThat(list.isAwaited()).isFalse();
        assertThat(list.hasLimited()).isTrue();
        assertThat(list.nanosUntilOverdue()).isBetween(1L, 61_000_000_000L);
        assertThat(list.hasOnlyLimited()).isFalse();
        list.remove(list.all(op -> op != limited));
        assertThat(list.hasOnlyLimited()).isTrue();
    }
}
