package io.hvd.engine.execution;

import io.hvd.engine.message.Batch;
import io.hvd.engine.message.Reducing;
import io.hvd.engine.submission.Outcome;
import io.hvd.engine.submission.PendingOp;
import io.hvd.engine.submission.TensorQueue;
import io.hvd.engine.tuning.Tuner;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Backend;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Carries out the coordinator's decisions batch by batch, with this rank's operations. Only the communication thread
 * calls it.
 */
public final class PlanRun {
    private final Backend backend;
    private final ProcessSets sets;
    private final TensorQueue queue;
    private final DataLog log;
    private final DeviceWork unfinished;
    private final Tuner tuner;

    /**
     * @param unfinished takes over the batches that have been carried out
     */
    public PlanRun(
            Backend backend, ProcessSets sets, TensorQueue queue, DataLog log, DeviceWork unfinished, Tuner tuner) {
        this.tuner = tuner;
        this.backend = backend;
        this.sets = sets;
        this.queue = queue;
        this.log = log;
        this.unfinished = unfinished;
    }

    /** @param batches the batches of a plan as {@link SetMember#arrived} returns them */
    public void carryOut(SetMember set, List<Batch> batches) {
        refuse(set, batches);
        for (Batch batch : batches) {
            if (batch instanceof Batch.WhereAsked one) {
                queue.takeIfPending(set.id(), one.name()).ifPresent(op -> run(set, one, List.of(op)));
            } else if (batch instanceof Batch.Collective collective) {
                run(set, collective, takePart(set, collective));
            } else if (batch instanceof Batch.SetChange change) {
                run(set, change, takePart(set, change));
            }
        }
    }

    /**
     * Fails the refused operations. All of them leave the queue first, because a thread that hears of one may submit
     * the whole group again.
     */
    private void refuse(SetMember set, List<Batch> batches) {
        Map<PendingOp, HvdException> refused = new LinkedHashMap<>();
        for (Batch batch : batches) {
            if (batch instanceof Batch.Refusal refusal && refusal.askers().contains(set.self())) {
                queue.takeIfPending(set.id(), refusal.name()).ifPresent(op -> refused.put(op, refusal.exception()));
            }
        }
        refused.forEach(PendingOp::fail);
    }

    /** This rank's operations; where it has joined, neutral operations stand in for them. */
    private List<PendingOp> takePart(SetMember set, Batch.Run batch) {
        List<String> names = batch.names();
        List<PendingOp> ops = new ArrayList<>();
        for (int i = 0; i < names.size(); i++) {
            int place = i;
            ops.add(queue.takeIfPending(set.id(), names.get(i))
                    .orElseGet(() -> PendingOp.standIn(batch.standIn(place))));
        }
        return ops;
    }

    private void run(SetMember set, Batch.Collective batch, List<PendingOp> ops) {
        Execution execution = unfinished.begin(set, ops, batch);
        Optional<String> refusal = execution.refusal();
        if (refusal.isPresent()) {
            HvdException unsupported = new HvdException(
                    ErrorId.UNSUPPORTED,
                    ops.get(0).request().kind() + " of " + batch.names() + ": the back end " + backend.description()
                            + " cannot do it: " + refusal.get());
            ops.forEach(op -> op.fail(unsupported));
            return;
        }
        log.start(ops);
        execution.run(batch);
        unfinished.settle(execution);
        if (tuner.isMeasuring() && set == sets.all() && ops.get(0).request() instanceof Reducing.Allreduce) {
            measured(batch, ops);
        }
    }

    /** What the ranks that are left carry out says nothing of a step of all ranks. */
    private void measured(Batch.Collective batch, List<PendingOp> ops) {
        if (batch instanceof Batch.AllreduceOfSome) {
            tuner.ranWithoutSome();
        } else {
            long bytes = ops.stream().mapToLong(op -> op.request().wireBytes()).sum();
            tuner.ran(batch.names(), bytes, System.nanoTime());
        }
    }

    private void run(SetMember set, Batch.SetChange change, List<PendingOp> ops) {
        Execution execution = unfinished.begin(set, ops, change);
        log.start(ops);
        execution.guarded(() -> {
            carryOut(change);
            return null;
        });
        ops.get(0).bring(Outcome.of(change.set()));
        unfinished.settle(execution);
    }

    private void carryOut(Batch.SetChange change) {
        if (change instanceof Batch.AddProcessSet added) {
            sets.enter(added.set(), added.members());
        } else {
            sets.leave(change.set());
        }
    }
}
