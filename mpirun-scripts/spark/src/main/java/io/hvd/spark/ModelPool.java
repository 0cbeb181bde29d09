package io.hvd.spark;

import io.hvd.log.HvdLogger;
import java.io.Serializable;
import java.lang.ref.Cleaner;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;

/**
 * The models of one executor that no batch is using. It travels empty, as a broadcast variable, of which an executor has one copy: so a
 * model is loaded once for each task that runs at the same time, however many partitions there are. Spark tells nobody that it has
 * dropped the variable, so that the models are closed when the pool is garbage.
 */
final class ModelPool<A> implements Serializable {
    private static final long serialVersionUID = 1L;

    private static final HvdLogger LOG = HvdLogger.of(ModelPool.class);

    private transient Idle<A> idle;

    synchronized Optional<BatchModel<A>> take() {
        return idle == null ? Optional.empty() : Optional.ofNullable(idle.models.poll());
    }

    synchronized void give(BatchModel<A> model) {
        if (idle == null) {
            idle = new Idle<>(new ArrayDeque<>());
            Cleaner.create().register(this, idle); // its thread ends with the pool
        }
        idle.models.push(model);
    }

    /** Knows nothing of the pool, which would never become garbage otherwise. */
    private record Idle<A>(Deque<BatchModel<A>> models) implements Runnable {
        @Override
        public void run() {
            for (BatchModel<A> model : models) {
                try {
                    model.close();
                } catch (Exception e) {
                    LOG.warn("a model of HvdSpark.predict could not be closed", e);
                }
            }
        }
    }
}
