package io.hvd.engine;

import io.hvd.engine.Plan.Batch;
import io.hvd.engine.Plan.Op;
import io.hvd.spi.OpKind;
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

    /** One-off operations would only drive out the others. */
    static boolean takes(OpKind kind) {
        return kind == OpKind.ALLREDUCE
                || kind == OpKind.ALLGATHER
                || kind == OpKind.ALLTOALL
                || kind == OpKind.REDUCESCATTER;
    }

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
     * @return the same batches; an operation whose number has gone meanwhile is named in full
     */
    List<Batch> planned(List<Batch> batches, Map<String, Tally> tallies) {
        plans++;
        List<Batch> stamped = new ArrayList<>();
        for (Batch batch : batches) {
            List<Op> ops = batch.ops().stream()
                    .map(op -> batch.remember() ? stamp(op, tallies.get(op.name())) : Op.named(op.name()))
                    .toList();
            stamped.add(batch.withOps(ops));
        }
        return stamped;
    }

    private Op stamp(Op op, Tally tally) {
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
