package io.hvd.host.shm;

import io.hvd.host.memory.Layout;

/** The size of the memory that the ranks of a host share. */
public final class SegmentSize {
    /**
     * The size of a stage on one host: both parities and the result stay in the caches, and the ranks seldom have to
     * meet.
     */
    private static final int STAGE_BYTES = 512 << 10;
    /**
     * The size of a stage with several hosts: large enough that the network has work while the ranks of the host meet.
     */
    private static final int CROSSING_BYTES = 2 << 20;

    private static final int MOST_STAGE_BYTES = 4 << 20;
    /** The smallest stage that is worth it. */
    static final int LEAST_STAGE_BYTES = 16 << 10;

    private SegmentSize() {}

    /** @param ranks number of ranks of this host */
    static int stageBytes(int ranks, boolean oneHost) {
        if (!oneHost) {
            return (int) Math.min(MOST_STAGE_BYTES, (long) CROSSING_BYTES * ranks);
        }
        return STAGE_BYTES;
    }

    /**
     * Bytes of a segment of the set of all ranks, if the host has so much memory.
     *
     * @param ranks number of ranks of this host
     * @param oneHost whether the job has no other host
     */
    public static long bytes(int ranks, boolean oneHost) {
        return Layout.bytes(ranks, stageBytes(ranks, oneHost));
    }
}
