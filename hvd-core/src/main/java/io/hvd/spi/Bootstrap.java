package io.hvd.spi;

import java.util.List;

/**
 * Says which rank of which job this one is, and lets the ranks tell each other, before anything else connects them, what
 * they need to connect. It is used on the communication thread.
 */
public interface Bootstrap {
    /**
     * Rank and size, local rank and local size, and the places of the other ranks. A bootstrap finds out which ranks share a
     * node, because what starts the ranks knows that better than a comparison of host names does.
     */
    Topology topology();

    /** The number of this job, higher than those of the jobs that any of its ranks was in before. All ranks have the same. */
    int generation();

    /** Gives every rank the bytes of all ranks, by rank. All ranks call it together. */
    List<byte[]> exchange(byte[] mine);
}
