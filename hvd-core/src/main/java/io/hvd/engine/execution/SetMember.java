package io.hvd.engine.execution;

import io.hvd.config.EngineSettings;
import io.hvd.engine.coordination.CallOrder;
import io.hvd.engine.message.Announcement.Wishes;
import io.hvd.engine.message.Batch;
import io.hvd.engine.message.Plan;
import io.hvd.engine.message.Plan.Op;
import io.hvd.engine.message.Request;
import io.hvd.engine.message.ResponseCache;
import io.hvd.engine.submission.PendingOp;
import io.hvd.engine.submission.Slot;
import io.hvd.engine.submission.TensorQueue;
import io.hvd.spi.DataPlane;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/** This rank's membership in one process set: what it remembers of the plans, and the set's data plane. */
public final class SetMember {
    private final int id;
    private final List<Integer> members;
    private final int self;
    private final DataPlane data;
    private final boolean strict;
    private final ResponseCache<Known> cache;
    private long seen;
    private int epoch;

    private final DataLog log;

    /**
     * @param rank this rank's global number
     * @param log hears of the data plane's activities
     */
    public SetMember(int id, List<Integer> members, int rank, DataPlane data, EngineSettings settings, DataLog log) {
        this.log = log;
        data.report(log);
        this.id = id;
        this.members = List.copyOf(members);
        this.self = members.indexOf(rank);
        this.data = data;
        this.strict = settings.strict();
        this.cache = new ResponseCache<>(strict ? 0 : settings.cacheCapacity());
    }

    /** @param batch the decision with which the slot's request was carried out when the cache stored it */
    private record Known(Slot slot, Batch batch) {}

    public int id() {
        return id;
    }

    public int size() {
        return members.size();
    }

    /** This rank's number within the set. */
    int self() {
        return self;
    }

    /** This rank's global number. */
    int rank() {
        return members.get(self);
    }

    public DataPlane data() {
        return data;
    }

    /** The log of the data plane's activities. */
    DataLog log() {
        return log;
    }

    /** The number of times that the set has begun or left a static plan. */
    public int epoch() {
        return epoch;
    }

    /** Makes the announcement of operations that the coordinator does not know of yet. */
    public Wishes wishes(List<PendingOp> ops) {
        BitSet known = new BitSet();
        List<Request> fresh = new ArrayList<>();
        List<String> sites = new ArrayList<>();
        for (PendingOp op : ops) {
            int number = op.slot().numberOf(op.request());
            if (number == Op.UNKNOWN) {
                fresh.add(op.request());
                if (strict) {
                    sites.add(op.isInAnyOrder() ? CallOrder.ANY : op.site());
                }
            } else {
                known.set(number);
            }
        }
        return new Wishes(id, epoch, seen, known, fresh, sites);
    }

    /**
     * Records a plan when it arrives, before any of it is carried out.
     *
     * @return the same plan with the names and decisions filled in that this rank's response cache has
     */
    public Plan arrived(Plan plan, TensorQueue queue) {
        seen += plan.batches().isEmpty() ? 0 : 1;
        List<Batch> batches =
                plan.batches().stream().map(batch -> noted(batch, queue)).toList();
        return new Plan(plan.set(), batches, plan.lock(), plan.stop(), plan.failure(), plan.tuning());
    }

    private Batch noted(Batch batch, TensorQueue queue) {
        if (batch instanceof Batch.Again again) {
            return known(again.number()).value().batch();
        }
        if (batch instanceof Batch.Allreduce allreduce) {
            List<Op> ops =
                    allreduce.ops().stream().map(op -> noted(op, batch, queue)).toList();
            return new Batch.Allreduce(ops, allreduce.divisor());
        }
        if (batch instanceof Batch.Repeatable one && one.remember()) {
            remember(one.name(), one, queue);
        }
        return batch;
    }

    private Op noted(Op op, Batch batch, TensorQueue queue) {
        if (op.isKnown()) {
            return new Op(known(op.number()).name(), op.number());
        }
        remember(op.name(), batch, queue);
        return op;
    }

    private ResponseCache.Entry<Known> known(int number) {
        cache.used(number);
        return cache.get(number);
    }

    private void remember(String name, Batch batch, TensorQueue queue) {
        PendingOp asked = queue.find(id, name).orElseThrow();
        Slot slot = asked.slot();
        cache.put(name, new Known(slot, batch))
                .ifPresent(gone -> gone.value().slot().forget(gone.number()));
        cache.find(name).ifPresent(entry -> slot.remember(entry.number(), asked.request()));
    }

    /**
     * A static plan begins.
     *
     * @return the slots of its operations, batch by batch
     */
    public List<List<Slot>> beginPlan(List<List<String>> batches) {
        epoch++;
        return batches.stream()
                .map(names -> names.stream()
                        .map(name -> cache.find(name).orElseThrow().value().slot())
                        .toList())
                .toList();
    }

    /** The static plan has ended: the ranks negotiate again. */
    public void endPlan() {
        epoch++;
    }
}
