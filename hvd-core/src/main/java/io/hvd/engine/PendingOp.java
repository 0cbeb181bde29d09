package io.hvd.engine;

import io.hvd.tensor.Tensor;
import io.hvd.trace.Call;
import io.hvd.trace.FlightRecorder;
import java.util.concurrent.CompletableFuture;

/**
 * An operation on its way: what was asked, where the elements lie, and who waits. Some operations make
 * their output themselves, once they know its size.
 */
final class PendingOp {
    private final int set;
    private final Request request;
    private final Tensor input;
    private Tensor output;
    private final Call call;
    private final FlightRecorder recorder;
    private final CompletableFuture<Outcome> result = new CompletableFuture<>();

    /**
     * @param set number of the process set
     * @param output null where the operation makes it
     */
    PendingOp(int set, Request request, Tensor input, Tensor output, Call call, FlightRecorder recorder) {
        this.set = set;
        this.request = request;
        this.input = input;
        this.output = output;
        this.call = call;
        this.recorder = recorder;
    }

    /** What a rank that has joined carries out in place of another rank's operation; nobody waits for it. */
    static PendingOp standIn(int set, Request template) {
        Request request = Neutral.unscaled(template);
        Tensor neutral = Neutral.tensor(request);
        return new PendingOp(set, request, neutral, neutral, null, null);
    }

    /** What tells operations apart: the same name in two process sets is two operations. */
    record Key(int set, String name) {}

    Key key() {
        return new Key(set, request.name());
    }

    int set() {
        return set;
    }

    Request request() {
        return request;
    }

    String name() {
        return request.name();
    }

    Tensor input() {
        return input;
    }

    Tensor output() {
        return output;
    }

    /** Where the result goes after all; on the communication thread. */
    void provide(Tensor made) {
        output = made;
    }

    /** The line that asked for it. */
    String site() {
        return call.site();
    }

    CompletableFuture<Outcome> result() {
        return result;
    }

    /** As the recorder knows it; null for a stand-in. */
    Call call() {
        return call;
    }

    /** The engine has taken it from the queue. */
    void announce(boolean negotiated) {
        recorder.announced(call, negotiated);
    }

    void complete(Outcome outcome) {
        end("");
        result.complete(outcome);
    }

    void fail(Throwable cause) {
        end(cause.toString());
        result.completeExceptionally(cause);
    }

    private void end(String error) {
        if (call != null) {
            recorder.ended(call, error);
        }
    }
}
