package io.hvd.engine;

import io.hvd.engine.Plan.Op;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The coordinator's end of the response cache: the requests of every rank under each number. What has
 * to go is kept until all ranks know of it, because a rank may have named it meanwhile.
 */
final class CoordinatorCache {
    private final ResponseCache<List<Request>> cache;
    private final long[] seen;
    private final Deque<Retired> retired = new ArrayDeque<>();
    private final Map<Integer, List<Request>> retiredRequests = new HashMap<>();
    private long plans;
    private boolean evicted;

    CoordinatorCache(int capacity, int size) {
        this.cache = new ResponseCache<>(capacity);
        this.seen = new long[size];
    }

    private record Retired(int number, long plan) {}

    /** A rank knows the first so many plans. */
    void seen(int rank, long count) {
        seen[rank] = count;
        long all = Arrays.stream(seen).min().orElse(0);
        while (!retired.isEmpty() && retired.peek().plan() <= all) {
            retiredRequests.remove(retired.remove().number());
        }
    }

    /** What a rank means by a number. */
    Request request(int number, int rank) {
        ResponseCache.Entry<List<Request>> entry = cache.get(number);
        return (entry != null ? entry.value() : retiredRequests.get(number)).get(rank);
    }

    /**
     * Goes through the batches of a plan as every rank will when it arrives.
     *
     * @param tallies of the operations to be remembered, by name
     * @return the same batches; what the ranks know goes by its number, unless that has gone meanwhile
     */
    List<Batch> planned(List<Batch> batches, Map<String, Tally> tallies) {
        plans++;
        List<Batch> stamped = new ArrayList<>();
        for (Batch batch : batches) {
            stamped.add(stamp(batch, tallies));
        }
        return stamped;
    }

    private Batch stamp(Batch batch, Map<String, Tally> tallies) {
        if (batch instanceof Batch.Allreduce allreduce) {
            List<Op> ops = allreduce.ops().stream()
                    .map(op -> stamp(tallies.get(op.name())))
                    .toList();
            return new Batch.Allreduce(ops, allreduce.divisor());
        }
        if (batch instanceof Batch.Repeatable one && one.remember()) {
            Op op = stamp(tallies.get(one.name()));
            return op.isKnown() ? new Batch.Again(op.number()) : one;
        }
        return batch;
    }

    private Op stamp(Tally tally) {
        Op op = tally.op();
        if (op.isKnown() && cache.get(op.number()) != null) {
            cache.used(op.number());
            return op;
        }
        cache.put(op.name(), List.copyOf(tally.requests())).ifPresent(gone -> {
            evicted |= !gone.name().equals(op.name());
            retired.add(new Retired(gone.number(), plans));
            retiredRequests.put(gone.number(), gone.value());
        });
        return Op.named(op.name());
    }

    /** Whether an entry has had to go for lack of room. */
    boolean hasEvicted() {
        return evicted;
    }
}
