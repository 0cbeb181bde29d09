package io.hvd.engine;

import io.hvd.config.EngineSettings;
import io.hvd.engine.Announcement.Wishes;
import io.hvd.engine.Plan.Batch;
import io.hvd.engine.Plan.Op;
import io.hvd.spi.Collectives;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** This rank's place in one process set: what it remembers of the plans, and the way its data goes. */
final class SetMember {
    private final int id;
    private final List<Integer> members;
    private final int self;
    private final Collectives data;
    private final boolean strict;
    private final ResponseCache<Remembered> cache;
    private long seen;
    private int epoch;
    private StaticPlan steps;

    private final DataLog log;

    /**
     * @param rank this rank's global number
     * @param log hears what the data plane does
     */
    SetMember(int id, List<Integer> members, int rank, Collectives data, EngineSettings settings, DataLog log) {
        this.log = log;
        data.report(log);
        this.id = id;
        this.members = List.copyOf(members);
        this.self = members.indexOf(rank);
        this.data = data;
        this.strict = settings.strict();
        this.cache = new ResponseCache<>(strict ? 0 : settings.cacheCapacity());
    }

    /** What a known operation was like here, and the sizes that go with it. */
    private record Remembered(Request request, List<Long> sizes) {}

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

    Collectives data() {
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
            int number = cache.find(op.name())
                    .filter(entry -> entry.value().request().equals(op.request()))
                    .map(ResponseCache.Entry::number)
                    .orElse(Op.UNKNOWN);
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
                ResponseCache.Entry<Remembered> entry = cache.get(op.number());
                cache.used(op.number());
                sizes = entry.value().sizes();
                ops.add(new Op(entry.name(), op.number()));
            } else {
                Request request = queue.find(id, op.name()).orElseThrow().request();
                cache.put(op.name(), new Remembered(request, batch.sizes()));
                ops.add(op);
            }
        }
        return batch.withOps(ops).withSizes(sizes);
    }

    /** From here on the step is carried out without plans; what was announced meanwhile belongs to it. */
    void lock(List<List<String>> batches, List<PendingOp> announced) {
        epoch++;
        Map<String, Request> requests = new HashMap<>();
        for (List<String> batch : batches) {
            batch.forEach(name ->
                    requests.put(name, cache.find(name).orElseThrow().value().request()));
        }
        steps = new StaticPlan(batches, requests, size());
        announced.forEach(op -> steps.submitted(op.request()));
    }

    /** Back to negotiating. */
    void unlock() {
        epoch++;
        steps = null;
    }
}
