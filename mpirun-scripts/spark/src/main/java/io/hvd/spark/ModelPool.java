package io.hvd.spark;

import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;

/**
 * The models of one executor that no batch is using. It travels empty, as a broadcast variable, of which an executor has one copy: so a
 * model is loaded once for each task that runs at the same time, however many partitions there are.
 */
final class ModelPool<A> implements Serializable {
    private static final long serialVersionUID = 1L;

    private transient Deque<BatchModel<A>> idle;

    synchronized Optional<BatchModel<A>> take() {
        return idle == null ? Optional.empty() : Optional.ofNullable(idle.poll());
    }

    synchronized void give(BatchModel<A> model) {
        if (idle == null) {
            idle = new ArrayDeque<>();
        }
        idle.push(model);
    }
}
