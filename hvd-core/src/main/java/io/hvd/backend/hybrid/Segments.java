package io.hvd.backend.hybrid;

import java.util.Arrays;

/**
 * The part of a tensor that goes to, or comes from, each of some ranks.
 *
 * @param starts first element, by rank
 * @param counts elements, by rank
 */
record Segments(long[] starts, long[] counts) {
    static Segments oneBehindTheOther(long[] counts) {
        long[] starts = new long[counts.length];
        for (int i = 1; i < starts.length; i++) {
            starts[i] = starts[i - 1] + counts[i - 1];
        }
        return new Segments(starts, counts);
    }

    /** Everybody the same elements. */
    static Segments same(long count, int ranks) {
        long[] counts = new long[ranks];
        Arrays.fill(counts, count);
        return new Segments(new long[ranks], counts);
    }

    static Segments only(int rank, long count, int ranks) {
        long[] counts = new long[ranks];
        counts[rank] = count;
        return new Segments(new long[ranks], counts);
    }

    static Segments none(int ranks) {
        return new Segments(new long[ranks], new long[ranks]);
    }

    long longest() {
        return Arrays.stream(counts).max().orElse(0);
    }

    /** How many elements of a rank's segment go in the round that begins at {@code from}. */
    int count(int rank, long from, int share) {
        return count(counts[rank], from, share);
    }

    static int count(long elements, long from, int share) {
        return (int) Math.max(0, Math.min(share, elements - from));
    }
}
