package io.hvd.backend.mpi.bindings;

import io.hvd.config.HvdConfig.AllreduceAlgorithm;

/**
 * How an allreduce between processes goes: by MPI_Allreduce, or round a ring of our own. It depends on nothing but what
 * all of them know alike, so that all choose the same.
 *
 * @param asked for by the user
 * @param hosts on which the ranks are
 */
record AllreduceChoice(AllreduceAlgorithm asked, int hosts) {
    /** From here on a ring of two and three hosts was faster than MPI_Allreduce at 1 Gbit/s. */
    private static final long RING_BYTES = 256 << 10;

    /**
     * Whether it goes round the ring.
     *
     * @param ranks that reduce together
     * @param bytes of all tensors in the type that travels
     */
    boolean goesRound(int ranks, long bytes) {
        return ranks > 1
                && switch (asked) {
                    case MPI -> false;
                    case RING -> true;
                    case AUTO -> hosts > 1 && bytes >= RING_BYTES;
                };
    }
}
