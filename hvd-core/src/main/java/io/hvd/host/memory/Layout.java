package io.hvd.host.memory;

/**
 * Where things lie in a segment.
 *
 * <pre>
 * a line of 128 bytes for each counter, rank and parity of the round, so that no two of them share a cache line
 * stage 0 of every rank, stage 1 of every rank     what a rank brings
 * result 0, result 1                               what all have come to
 * </pre>
 *
 * @param ranks that share the segment
 * @param stageBytes the size of one stage, and of one result; a multiple of 64
 */
public record Layout(int ranks, int stageBytes) {
    private static final int LINE = 128;
    private static final int PAGE = 4096;

    /** The counters of a rank. */
    enum Counter {
        /** The latest round that the rank is in or has been in, in which its data is on its stage. */
        PACKED,
        /** The latest round for which the result has the rank's part of what another rank carries to other groups. */
        READY,
        /** The latest round for which its part of the result is complete. */
        REDUCED,
        /** The latest round that the rank has vetoed. */
        VETOED,
        /** The place of a rank that it has found dead, counted from 1. */
        LOST
    }

    /**
     * The bytes beside the counter in its line, where a few bytes of data need no line of their own: they come with the
     * counter.
     */
    static final int BESIDE_COUNTER = LINE - Long.BYTES;

    int counter(Counter counter, int rank, long round) {
        return ((counter.ordinal() * 2 + parity(round)) * ranks + rank) * LINE;
    }

    int besideCounter(Counter counter, int rank, long round) {
        return counter(counter, rank, round) + Long.BYTES;
    }

    static int parity(long round) {
        return (int) (round & 1);
    }

    int stage(int rank, long round) {
        return Math.addExact(head(ranks), Math.multiplyExact(parity(round) * ranks + rank, stageBytes));
    }

    int result(long round) {
        return Math.addExact(head(ranks), Math.multiplyExact(2 * ranks + parity(round), stageBytes));
    }

    /** Number of bytes of the whole memory. */
    public int bytes() {
        return Math.toIntExact(bytes(ranks, stageBytes));
    }

    /** Number of bytes of a memory for so many ranks. */
    public static long bytes(int ranks, int stageBytes) {
        return head(ranks) + (2L * ranks + 2) * stageBytes;
    }

    private static int head(int ranks) {
        return (Counter.values().length * 2 * ranks * LINE + PAGE - 1) / PAGE * PAGE;
    }
}
