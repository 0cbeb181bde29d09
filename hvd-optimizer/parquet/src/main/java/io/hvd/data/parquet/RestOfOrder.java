package io.hvd.data.parquet;

import java.util.ArrayList;
import java.util.List;

/**
 * The places of an epoch's order that are still to be seen, as stretches in ascending order. It is dealt in as many equal parts as
 * there are ranks, one after the other, so that each rank reads row groups of its own.
 */
record RestOfOrder(List<Stretch> stretches) {
    /** Places from one on up to another one, which is not included. */
    record Stretch(int from, int to) {
        int length() {
            return to - from;
        }
    }

    RestOfOrder {
        stretches = List.copyOf(stretches);
    }

    static RestOfOrder whole(int rows) {
        return new RestOfOrder(rows == 0 ? List.of() : List.of(new Stretch(0, rows)));
    }

    int length() {
        return stretches.stream().mapToInt(Stretch::length).sum();
    }

    /** The places of one rank; the first ranks have one more where the rest does not divide. */
    RestOfOrder share(int replicas, int rank) {
        return between(begin(replicas, rank), begin(replicas, rank + 1));
    }

    private int begin(int replicas, int rank) {
        return length() / replicas * rank + Math.min(rank, length() % replicas);
    }

    /** What is left when each of so many ranks has seen so many places of its share, or all of it. */
    RestOfOrder after(int replicas, int seen) {
        List<Stretch> left = new ArrayList<>();
        for (int rank = 0; rank < replicas; rank++) {
            RestOfOrder share = share(replicas, rank);
            left.addAll(share.between(Math.min(seen, share.length()), share.length()).stretches);
        }
        return new RestOfOrder(left);
    }

    /** Counted in places of this rest. */
    private RestOfOrder between(int first, int end) {
        List<Stretch> parts = new ArrayList<>();
        int before = 0;
        for (Stretch stretch : stretches) {
            int from = stretch.from + Math.max(0, first - before);
            int to = stretch.from + Math.min(stretch.length(), end - before);
            if (from < to) {
                parts.add(new Stretch(from, to));
            }
            before += stretch.length();
        }
        return new RestOfOrder(parts);
    }
}
