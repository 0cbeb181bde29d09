package io.hvd.collective;

import io.hvd.config.MpiSettings.AllreduceAlgorithm;

/**
 * Chooses how an allreduce between processes is done: by MPI_Allreduce, or over hvd's own ring. The choice depends only
 * on what all ranks know alike, so that all choose the same.
 *
 * @param asked the user's choice
 * @param hosts number of hosts of the ranks
 */
public record AllreduceChoice(AllreduceAlgorithm asked, int hosts) {
    /**
     * The size from which on a ring was faster than MPI_Allreduce at 1 Gbit/s. Two ranks on each of two hosts, each of
     * which reduces its half with its partner, took 2.2 ms for halves of this size by the ring and 3.8 ms by MPI_Allreduce;
     * smaller halves took the same time both ways (docs/records/benchmarks.md).
     */
    private static final long RING_BYTES = 128 << 10;

    /**
     * Whether the allreduce uses the ring.
     *
     * @param ranks number of ranks that reduce together
     * @param bytes number of bytes of all tensors in the type that travels
     */
    boolean usesRing(int ranks, long bytes) {
        return ranks > 1
                && switch (asked) {
                    case MPI -> false;
                    case RING -> true;
                    case AUTO -> hosts > 1 && bytes >= RING_BYTES;
                };
    }
}
