package io.hvd.engine;

import io.hvd.tensor.Tensor;
import java.util.concurrent.CompletableFuture;

/**
 * An operation on its way: what was asked, where the elements lie, and who waits.
 *
 * <p>The output of an allgather is made when the ranks' rows are known.
 */
final class PendingOp {
    private final Request request;
    private final Tensor input;
    private final Tensor output;
    private final CompletableFuture<Tensor> result = new CompletableFuture<>();

    PendingOp(Request request, Tensor input, Tensor output) {
        this.request = request;
        this.input = input;
        this.output = output;
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

    CompletableFuture<Tensor> result() {
        return result;
    }

    void complete(Tensor value) {
        result.complete(value);
    }

    void fail(Throwable cause) {
        result.completeExceptionally(cause);
    }
}
