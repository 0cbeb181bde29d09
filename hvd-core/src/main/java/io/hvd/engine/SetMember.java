package io.hvd.engine;

import io.hvd.config.EngineSettings;
import io.hvd.engine.Announcement.Wishes;
import io.hvd.engine.Plan.Batch;
import io.hvd.engine.Plan.Op;
import io.hvd.spi.DataPlane;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/** This rank's place in one process set: what it remembers of the plans, and the way its data goes. */
final class SetMember {
    private final int id;
    private final List<Integer> members;
    private final int self;
    private final DataPlane data;
    private final boolean strict;
    private final ResponseCache<Slot> cache;
    private long seen;
    private int epoch;
    private StaticPlan steps;

    private final DataLog log;

    /**
     * @param rank this rank's global number
     * @param log hears what the data plane does
     */
    SetMember(int id, List<Integer> members, int rank, DataPlane data, EngineSettings settings, DataLog log) {
        this.log = log;
        data.report(log);
        this.id = id;
        this.members = List.copyOf(members);
        this.self = members.indexOf(rank);
        this.data = data;
        this.strict = settings.strict();
        this.cache = new ResponseCache<>(strict ? 0 : settings.cacheCapacity());
    }

    int id() {
        return id;
    }

    int size() {
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

    DataPlane data() {
        return data;
    }

    /** What the data plane is doing, and for whom. */
    DataLog log() {
        return log;
    }

    /** Counts how often the set has taken up or left a static plan. */
    int epoch() {
        return epoch;
    }

    /** The steps that go on without negotiation, or null. */
    StaticPlan steps() {
        return steps;
    }

    /** How operations are announced that the coordinator does not know of yet. */
    Wishes wishes(List<PendingOp> ops) {
        BitSet known = new BitSet();
        List<Request> fresh = new ArrayList<>();
        List<String> sites = new ArrayList<>();
        for (PendingOp op : ops) {
            int number = op.slot().numberOf(op.request());
            if (number == Op.UNKNOWN) {
                fresh.add(op.request());
                if (strict) {
                    sites.add(op.site());
                }
            } else {
                known.set(number);
            }
        }
        return new Wishes(id, epoch, seen, known, fresh, sites);
    }

    /**
     * Takes note of a plan when it arrives, before anything of it is carried out.
     *
     * @return the same plan with the names and sizes of known operations filled in
     */
    Plan arrived(Plan plan, TensorQueue queue) {
        seen += plan.batches().isEmpty() ? 0 : 1;
        List<Batch> batches =
                plan.batches().stream().map(batch -> remember(batch, queue)).toList();
        return new Plan(plan.set(), batches, plan.lock(), plan.stop(), plan.failure());
    }

    private Batch remember(Batch batch, TensorQueue queue) {
        if (!batch.remember()) {
            return batch;
        }
        List<Op> ops = new ArrayList<>();
        List<Long> sizes = batch.sizes();
        for (Op op : batch.ops()) {
            if (op.isKnown()) {
                ResponseCache.Entry<Slot> entry = cache.get(op.number());
                cache.used(op.number());
                sizes = entry.value().sizes();
                ops.add(new Op(entry.name(), op.number()));
            } else {
                PendingOp asked = queue.find(id, op.name()).orElseThrow();
                remember(asked.slot(), asked.request(), batch.sizes());
                ops.add(op);
            }
        }
        return batch.withOps(ops).withSizes(sizes);
    }

    private void remember(Slot slot, Request request, List<Long> sizes) {
        cache.put(slot.name(), slot).ifPresent(gone -> gone.value().forget(gone.number()));
        cache.find(slot.name()).ifPresent(entry -> slot.remember(entry.number(), request, sizes));
    }

    /** From here on the step is carried out without plans; what was announced meanwhile belongs to it. */
    void lock(List<List<String>> batches, List<PendingOp> announced) {
        epoch++;
        List<List<Slot>> slots = batches.stream()
                .map(names -> names.stream()
                        .map(name -> cache.find(name).orElseThrow().value())
                        .toList())
                .toList();
        steps = new StaticPlan(slots, size());
        announced.forEach(steps::submitted);
    }

    /** Back to negotiating. */
    void unlock() {
        epoch++;
        steps.end();
        steps = null;
    }
}
