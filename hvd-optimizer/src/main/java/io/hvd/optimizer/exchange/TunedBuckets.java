package io.hvd.optimizer.exchange;

import io.hvd.ProcessSet;
import io.hvd.optimizer.Parameter;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Groups of gradients of a size that autotuning may change, asked for between steps. The ranks need not change them between
 * the same two steps: gradients meet by their own names, whatever group each rank has them in.
 */
public final class TunedBuckets implements Supplier<Buckets> {
    private final ProcessSet ranks;
    private final List<Parameter> parameters;
    private final Set<String> outside;
    private long bytes;
    private Buckets buckets;

    /** @param outside the names of parameters that are in no group */
    public TunedBuckets(ProcessSet ranks, List<Parameter> parameters, Set<String> outside) {
        this.ranks = ranks;
        this.parameters = parameters;
        this.outside = outside;
        regroup(ranks.forOptimizers().bucketBytes(true));
    }

    private void regroup(long cap) {
        bytes = cap;
        buckets = new Buckets(parameters, cap, outside);
    }

    /** Another object only if the size has changed. */
    @Override
    public Buckets get() {
        long now = ranks.forOptimizers().bucketBytes(true);
        if (now != bytes) {
            regroup(now);
        }
        return buckets;
    }
}
