package io.hvd.backend.shm;

/**
 * Where things lie in a segment.
 *
 * <pre>
 * a line of 128 bytes for each rank and counter, so that no two of them share a cache line
 * stage 0 of every rank, stage 1 of every rank     what a rank brings
 * result 0, result 1                               what all have come to
 * </pre>
 *
 * @param ranks that share the segment
 * @param stageBytes of one stage, and of one result; a multiple of 4096
 */
record Layout(int ranks, int stageBytes) {
    private static final int LINE = 128;
    private static final int PAGE = 4096;

    /** What a rank counts. */
    enum Counter {
        /** Rounds that it is in or has been in: what it brings is on its stage. */
        PACKED,
        /** Rounds of which its part of the result is there. */
        REDUCED,
        /** The latest even and the latest odd round that it has vetoed. */
        VETOED,
        /** The place of a rank that it has found dead, counted from 1. */
        LOST
    }

    int counter(Counter counter, int rank) {
        return (counter.ordinal() * ranks + rank) * LINE;
    }

    /** @param parity of the round */
    int stage(int parity, int rank) {
        return Math.addExact(head(ranks), Math.multiplyExact(parity * ranks + rank, stageBytes));
    }

    int result(int parity) {
        return Math.addExact(head(ranks), Math.multiplyExact(2 * ranks + parity, stageBytes));
    }

    int bytes() {
        return Math.toIntExact(bytes(ranks, stageBytes));
    }

    static long bytes(int ranks, int stageBytes) {
        return head(ranks) + (2L * ranks + 2) * stageBytes;
    }

    private static int head(int ranks) {
        return (Counter.values().length * ranks * LINE + PAGE - 1) / PAGE * PAGE;
    }
}
