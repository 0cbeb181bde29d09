package io.hvd.engine.submission;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.engine.message.Request;
import io.hvd.engine.message.Requests;
import io.hvd.error.ShutdownException;
import io.hvd.tensor.Tensor;
import io.hvd.trace.FlightRecorder;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class PreparedOpsTest {
    private final TensorQueue queue = new TensorQueue(1 << 20, 0);
    private final FlightRecorder recorder = new FlightRecorder(4);
    private final PreparedOps prepared = new PreparedOps();
    private final List<PendingOp> ops = prepared.ops();

    @BeforeEach
    void prepare() {
        for (String name : List.of("a", "b")) {
            Slot slot = queue.keep(0, name);
            Tensor tensor = Tensor.of(1f);
            Slot.Asked asked = slot.ask(Requests.sum(name, 4), List.of(0), false);
            prepared.add(new PendingOp(slot, asked, tensor, tensor, recorder, prepared));
        }
    }

    private void start() {
        prepared.begin(false);
        recorder.submitted(ops);
    }

    @Test
    void everyStartEndsWithItsOwnOperations() {
        for (int round = 0; round < 3; round++) {
            start();
            assertThat(prepared.isDone()).isFalse();
            assertThat(recorder.pending()).hasSize(2);
            ops.get(1).fail(new ShutdownException("gone in round " + round));
            assertThat(prepared.isDone()).isFalse();
            PendingOp.complete(List.of(ops.get(0)));
            assertThat(prepared.isDone()).isTrue();
            assertThat(prepared.bytesDone()).isEqualTo(4);
            assertThatThrownBy(prepared::requireSuccess).hasMessageContaining("gone in round " + round);
            assertThat(recorder.pending()).isEmpty();
        }
        start();
        PendingOp.complete(ops);
        prepared.requireSuccess();
        assertThat(prepared.bytesDone()).isEqualTo(8);
    }

    /** What fails a step and what ends the job after it may both come to the same operation. */
    @Test
    void anOperationThatFailsTwiceCountsOnce() {
        start();
        ops.get(0).fail(new ShutdownException("first"));
        ops.get(0).fail(new ShutdownException("second"));
        assertThat(prepared.isDone()).isFalse();
        PendingOp.complete(List.of(ops.get(1)));
        assertThat(prepared.isDone()).isTrue();
        assertThatThrownBy(prepared::requireSuccess).hasMessageContaining("first");
    }

    @Test
    void allWhoWaitAreWoken() throws Exception {
        start();
        List<CompletableFuture<Void>> waiting = List.of(waits(), waits());
        PendingOp.complete(ops);
        for (CompletableFuture<Void> one : waiting) {
            one.get(20, TimeUnit.SECONDS);
        }
    }

    @Test
    void whatIsOverwrittenIsAlsoTheResult() {
        assertThat(prepared.outputs())
                .contains(List.of(ops.get(0).input(), ops.get(1).input()));
    }

    /** An operation that makes its output gets another one in every start, under the same request. */
    @Test
    void anOutputThatIsMadeIsForgottenWhenTheNextStartBegins() {
        PreparedOps made = new PreparedOps();
        Slot slot = queue.keep(0, "made");
        Tensor input = Tensor.of(1f);
        PendingOp op =
                new PendingOp(slot, slot.ask(Requests.sum("made", 4), List.of(0), false), input, null, recorder, made);
        made.add(op);
        Request request = op.request();
        assertThat(made.outputs()).isEmpty();
        for (int round = 0; round < 2; round++) {
            made.begin(false);
            recorder.submitted(made.ops());
            assertThat(made.outputs()).isEmpty();
            Tensor result = Tensor.of(5f, 6f);
            op.bring(Outcome.of(result));
            PendingOp.complete(made.ops());
            assertThat(made.outputs()).contains(List.of(result));
            assertThat(op.request()).isSameAs(request);
            assertThat(made.bytesDone()).isEqualTo(4);
        }
    }

    private CompletableFuture<Void> waits() {
        return CompletableFuture.runAsync(prepared::await, task -> new Thread(task).start());
    }

    @Test
    void theLineIsThatOfTheFirstStart() {
        start();
        String first = ops.get(0).site();
        assertThat(first).isSameAs(ops.get(1).site());
        PendingOp.complete(ops);
        prepared.begin(false);
        assertThat(ops.get(0).site()).isSameAs(first);
        PendingOp.complete(ops);
        prepared.begin(true);
        assertThat(ops.get(0).site()).isNotSameAs(first);
    }
}
