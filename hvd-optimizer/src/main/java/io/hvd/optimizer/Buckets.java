package io.hvd.optimizer;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * Groups of parameters whose gradients travel together. Filled from the last parameter to the first,
 * because that is the order in which backward computes gradients.
 */
final class Buckets {
    /** A handful of groups lets the first ones travel while backward still works on the rest. */
    private static final int GROUPS = 4;

    private static final long SMALLEST_BYTES = 4 << 10;
    private static final long LARGEST_BYTES = 25L << 20;

    private final int[] bucketOf;
    private final List<List<Integer>> buckets = new ArrayList<>();

    /**
     * @param capBytes a group is closed when it holds this much; 0 means a quarter of everything, within bounds
     */
    Buckets(List<Parameter> parameters, long capBytes) {
        this(parameters, capBytes, new BitSet());
    }

    /** @param apart parameters that share no group with the others */
    Buckets(List<Parameter> parameters, long capBytes, BitSet apart) {
        bucketOf = new int[parameters.size()];
        long cap = capBytes > 0 ? capBytes : automaticCap(parameters);
        int[] open = {-1, -1};
        long[] filled = {cap, cap};
        for (int i = parameters.size() - 1; i >= 0; i--) {
            int kind = apart.get(i) ? 1 : 0;
            if (filled[kind] >= cap) {
                open[kind] = buckets.size();
                buckets.add(new ArrayList<>());
                filled[kind] = 0;
            }
            bucketOf[i] = open[kind];
            buckets.get(open[kind]).add(i);
            filled[kind] += parameters.get(i).gradient().bytes();
        }
    }

    int count() {
        return buckets.size();
    }

    int bucketOf(int parameter) {
        return bucketOf[parameter];
    }

    /** Indices of the parameters in a bucket, in the order in which their gradients are expected. */
    List<Integer> members(int bucket) {
        return buckets.get(bucket);
    }

    private static long automaticCap(List<Parameter> parameters) {
        long total = parameters.stream()
                .mapToLong(parameter -> parameter.gradient().bytes())
                .sum();
        return Math.max(SMALLEST_BYTES, Math.min(LARGEST_BYTES, total / GROUPS));
    }
}
