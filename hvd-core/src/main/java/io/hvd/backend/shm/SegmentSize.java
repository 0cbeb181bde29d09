package io.hvd.backend.shm;

/** How much memory the ranks of a host share. */
public final class SegmentSize {
    /** What is used of both parities and of the result stays in the caches, and the ranks meet seldom. */
    private static final int STAGE_BYTES = 512 << 10;
    /** Where a slice goes to other hosts: so much that the network has work while the ranks of the host meet. */
    private static final int CROSSING_BYTES = 2 << 20;

    private static final int MOST_STAGE_BYTES = 4 << 20;
    /** A smaller one is not worth it. */
    static final int LEAST_STAGE_BYTES = 16 << 10;

    private SegmentSize() {}

    /** @param ranks of this host */
    static int stageBytes(int ranks, boolean oneHost) {
        if (!oneHost) {
            return (int) Math.min(MOST_STAGE_BYTES, (long) CROSSING_BYTES * ranks);
        }
        return STAGE_BYTES;
    }

    /**
     * What a segment of the set of all ranks takes, where it can be had.
     *
     * @param ranks of this host
     * @param oneHost whether there is no other
     */
    public static long bytes(int ranks, boolean oneHost) {
        return Layout.bytes(ranks, stageBytes(ranks, oneHost));
    }
}
