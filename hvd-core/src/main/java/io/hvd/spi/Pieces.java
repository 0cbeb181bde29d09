package io.hvd.spi;

import java.util.Arrays;

/**
 * The part of a tensor that goes to each rank, or comes from it.
 *
 * @param starts the first element of each part, by rank
 * @param counts number of elements of each part, by rank
 */
public record Pieces(long[] starts, long[] counts) {
    public static Pieces oneBehindTheOther(long[] counts) {
        long[] starts = new long[counts.length];
        for (int i = 1; i < starts.length; i++) {
            starts[i] = starts[i - 1] + counts[i - 1];
        }
        return new Pieces(starts, counts);
    }

    /** Gives every rank the same elements, which begin at 0. */
    public static Pieces same(long count, int ranks) {
        long[] counts = new long[ranks];
        Arrays.fill(counts, count);
        return new Pieces(new long[ranks], counts);
    }

    public static Pieces only(int rank, long count, int ranks) {
        long[] counts = new long[ranks];
        counts[rank] = count;
        return new Pieces(new long[ranks], counts);
    }

    public static Pieces none(int ranks) {
        return new Pieces(new long[ranks], new long[ranks]);
    }

    public long longest() {
        return Arrays.stream(counts).max().orElse(0);
    }

    /**
     * Number of elements of a rank's piece in the round that begins at {@code from} and takes at most {@code share}
     * elements.
     */
    public int count(int rank, long from, int share) {
        return count(counts[rank], from, share);
    }

    private static int count(long elements, long from, int share) {
        return (int) Math.max(0, Math.min(share, elements - from));
    }
}
