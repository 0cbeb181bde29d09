package io.hvd.benchmarks.cost;

/**
 * The chunks in which hvd's allreduces travel, with the sizes of {@code SegmentSize} and {@code RingAllreduce}. Those
 * that are under way together wait for messages together.
 *
 * @param count number of chunks
 * @param turns how often the ranks wait for a chunk's messages, one after the other
 */
record Chunks(long count, long turns) {
    /** The default of HVD_STAGE_BYTES, and the largest chunk of two levels. */
    private static final long STAGE_BYTES = 4 << 20;

    /** The size of a rank's slice from which on hvd's ring carries it, as in {@code AllreduceChoice}. */
    static final long RING_BYTES = 128 << 10;

    private static final long MESSAGE_BYTES = 63 << 10;
    private static final long MOST_RING_CHUNKS_AT_ONCE = 32;
    private static final long STAGES_AT_ONCE = 4;
    private static final long CROSSING_BYTES = 256 << 10;
    private static final long TWO_LEVEL_CHUNKS_AT_ONCE = 2;

    static Chunks ofTwoLevels(JobShape shape, double bytes) {
        return of(bytes, Math.min(STAGE_BYTES, CROSSING_BYTES * shape.ranks()), TWO_LEVEL_CHUNKS_AT_ONCE);
    }

    static Chunks ofRing(int ranks, double bytes) {
        long chunk = Math.min(STAGE_BYTES, MESSAGE_BYTES * ranks);
        return of(bytes, chunk, Math.min(MOST_RING_CHUNKS_AT_ONCE, STAGES_AT_ONCE * STAGE_BYTES / chunk));
    }

    private static Chunks of(double bytes, long chunkBytes, long atOnce) {
        long count = Math.max(1, (long) Math.ceil(bytes / chunkBytes));
        return new Chunks(count, (count + atOnce - 1) / atOnce);
    }

    /** The part of the work before the link has something to carry. */
    double lead() {
        return 1.0 / count;
    }
}
