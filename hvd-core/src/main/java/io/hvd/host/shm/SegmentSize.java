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
     * The part of a stage for each rank, with several hosts: large enough that the network has work while the ranks of a
     * host meet, and that few messages wait for each other.
     */
    private static final int CROSSING_BYTES = 256 << 10;

    private static final int MOST_STAGE_BYTES = 4 << 20;
    /** The smallest stage that is worth it. */
    static final int LEAST_STAGE_BYTES = 16 << 10;

    private SegmentSize() {}

    /** @param ranks number of ranks of all hosts */
    static int stageBytes(int ranks, int hosts) {
        return hosts == 1 ? STAGE_BYTES : (int) Math.min(MOST_STAGE_BYTES, (long) CROSSING_BYTES * ranks);
    }

    /**
     * Bytes of a host's segment of the set of all ranks, if the host has so much memory.
     *
     * @param here number of ranks of this host
     * @param ranks number of ranks of all hosts
     * @param hosts number of hosts of the job
     */
    public static long bytes(int here, int ranks, int hosts) {
        return Layout.bytes(here, stageBytes(ranks, hosts));
    }
}
