package io.hvd.backend.shm;

/** How much memory the ranks of a host share. */
public final class SegmentSize {
    /** A stage of every rank, both parities of it and the result stay in a core's cache. */
    private static final int STAGE_BYTES = 128 << 10;
    /** Where ranks share cores, every meeting of them costs turns on a core: fewer meetings are worth cache misses. */
    private static final int CROWDED_STAGE_BYTES = 512 << 10;
    /** Where a slice goes to other hosts: so much that the network has work while the ranks of the host meet. */
    private static final int CROSSING_BYTES = 2 << 20;

    private static final int MOST_STAGE_BYTES = 4 << 20;
    /** A smaller one is not worth it. */
    static final int LEAST_STAGE_BYTES = 16 << 10;

    private SegmentSize() {}

    /**
     * @param ranks of this host
     * @param cores that they have together
     */
    static int stageBytes(int ranks, boolean oneHost, int cores) {
        if (!oneHost) {
            return (int) Math.min(MOST_STAGE_BYTES, (long) CROSSING_BYTES * ranks);
        }
        return ranks > cores ? CROWDED_STAGE_BYTES : STAGE_BYTES;
    }

    /**
     * What a segment of the set of all ranks takes, where it can be had.
     *
     * @param ranks of this host
     * @param oneHost whether there is no other
     * @param cores that they have together
     */
    public static long bytes(int ranks, boolean oneHost, int cores) {
        return Layout.bytes(ranks, stageBytes(ranks, oneHost, cores));
    }
}
