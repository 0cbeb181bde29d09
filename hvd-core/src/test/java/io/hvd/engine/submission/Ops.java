package io.hvd.engine.submission;

import io.hvd.engine.Engine;
import io.hvd.engine.message.Request;
import io.hvd.tensor.Tensor;
import io.hvd.trace.FlightRecorder;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** Operations for tests, whose ends are futures. */
public final class Ops {
    private Ops() {}

    /** Submits an operation of the set of all ranks. */
    public static CompletableFuture<Outcome> submit(
            Engine engine, List<Integer> members, Request request, Tensor input, Tensor output, boolean hurry) {
        PendingOp op = engine.operation(0, members, request, input, output);
        engine.submit(op, hurry);
        return end(op);
    }

    /** What an operation comes to. */
    public static CompletableFuture<Outcome> end(PendingOp op) {
        CompletableFuture<Outcome> end = new CompletableFuture<>();
        op.whenDone(() -> {
            try {
                end.complete(op.join());
            } catch (CompletionException e) {
                end.completeExceptionally(e.getCause());
            }
        });
        return end;
    }

    /** Somebody waits for the operation that this thread has submitted under a name, if it is still under way. */
    public static void hurry(Engine engine, String name) {
        PendingOp op = engine.slot(0, name).pending;
        if (op != null) {
            engine.hurry(op);
        }
    }

    /** An operation in a slot of the queue. */
    public static PendingOp op(TensorQueue queue, int set, Request request, Tensor tensor, FlightRecorder recorder) {
        Slot slot = queue.slot(set, request.name());
        return new PendingOp(slot, slot.ask(request, List.of(0, 1), false), tensor, tensor, recorder, null);
    }

    /** The operation that is under way under this name. */
    public static PendingOp pending(Slot slot) {
        return slot.pending;
    }
}
