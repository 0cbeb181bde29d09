package io.hvd.optimizer.exchange;

import io.hvd.optimizer.Parameter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Set;

/**
 * Groups of parameters whose gradients travel together. Filled from the last parameter to the first,
 * because that is the order in which backward computes gradients.
 */
public final class Buckets {
    /** A handful of groups lets the first ones travel while backward still works on the rest. */
    private static final int GROUPS = 4;

    private static final long SMALLEST_BYTES = 4 << 10;
    private static final long LARGEST_BYTES = 25L << 20;

    private static final int NONE = -1;

    private final int[] bucketOf;
    private final List<List<Integer>> buckets = new ArrayList<>();

    /**
     * @param capBytes a group is closed when it holds this much; 0 means a quarter of everything, within bounds
     */
    Buckets(List<Parameter> parameters, long capBytes) {
        this(parameters, capBytes, Set.of());
    }

    /** @param outside the names of parameters that are in no group */
    public Buckets(List<Parameter> parameters, long capBytes, Set<String> outside) {
        bucketOf = new int[parameters.size()];
        long cap = capBytes > 0 ? capBytes : automaticCap(parameters);
        long filled = cap;
        for (int i = parameters.size() - 1; i >= 0; i--) {
            if (outside.contains(parameters.get(i).name())) {
                bucketOf[i] = NONE;
                continue;
            }
            if (filled >= cap) {
                buckets.add(new ArrayList<>());
                filled = 0;
            }
            bucketOf[i] = buckets.size() - 1;
            buckets.get(buckets.size() - 1).add(i);
            filled += parameters.get(i).gradient().bytes();
        }
    }

    /**
     * @param groups indices of the parameters that travel together, the first parameters first; every parameter is in one
     * @param outside the names of parameters that are in no group all the same
     */
    public Buckets(List<List<Integer>> groups, List<Parameter> parameters, Set<String> outside) {
        bucketOf = new int[parameters.size()];
        Arrays.fill(bucketOf, NONE);
        for (int group = groups.size() - 1; group >= 0; group--) {
            List<Integer> backwards = groups.get(group).stream()
                    .filter(parameter ->
                            !outside.contains(parameters.get(parameter).name()))
                    .sorted(Comparator.reverseOrder())
                    .toList();
            if (!backwards.isEmpty()) {
                backwards.forEach(parameter -> bucketOf[parameter] = buckets.size());
                buckets.add(backwards);
            }
        }
    }

    int count() {
        return buckets.size();
    }

    /** Whether the gradient travels at all. */
    boolean contain(int parameter) {
        return bucketOf[parameter] != NONE;
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
