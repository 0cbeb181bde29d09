package io.hvd.engine;

import io.hvd.config.EngineSettings;
import io.hvd.engine.Announcement.Wishes;
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
    private final ResponseCache<Known> cache;
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

    /** @param batch in which the slot's request was carried out when the cache took it in */
    private record Known(Slot slot, Batch batch) {}

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
     * @return the same plan with all that the ranks know filled in
     */
    Plan arrived(Plan plan, TensorQueue queue) {
        seen += plan.batches().isEmpty() ? 0 : 1;
        List<Batch> batches =
                plan.batches().stream().map(batch -> noted(batch, queue)).toList();
        return new Plan(plan.set(), batches, plan.lock(), plan.stop(), plan.failure());
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

    /** From here on the step is carried out without plans; what was announced meanwhile belongs to it. */
    void lock(List<List<String>> batches, List<PendingOp> announced) {
        epoch++;
        List<List<Slot>> slots = batches.stream()
                .map(names -> names.stream()
                        .map(name -> cache.find(name).orElseThrow().value().slot())
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
