package io.hvd.engine.coordination;

import io.hvd.engine.message.Batch;
import io.hvd.engine.message.Plan.Op;
import io.hvd.engine.message.Request;
import io.hvd.engine.message.ResponseCache;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The coordinator's side of the response cache: the requests of every rank under each number. Dropped entries are kept
 * until all ranks know that they are gone, because a rank may have used their number meanwhile.
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

    /** Records that a rank knows the first so many plans. */
    void seen(int rank, long count) {
        seen[rank] = count;
        if (retired.isEmpty()) {
            return;
        }
        long all = Arrays.stream(seen).min().orElse(0);
        while (!retired.isEmpty() && retired.peek().plan() <= all) {
            retiredRequests.remove(retired.remove().number());
        }
    }

    /** The request that a rank means by a number. */
    Request request(int number, int rank) {
        ResponseCache.Entry<List<Request>> entry = cache.get(number);
        return (entry != null ? entry.value() : retiredRequests.get(number)).get(rank);
    }

    /**
     * Applies the batches of a plan to the cache, as every rank does when the plan arrives.
     *
     * @param tallies the operations to be remembered, by name
     * @return the same batches; requests that the ranks know are replaced by their number, unless it has been dropped
     *     meanwhile
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

    /** Whether an entry has been dropped for lack of room. */
    boolean hasEvicted() {
        return evicted;
    }
}
