package io.hvd.backend.mpi.bindings;

import io.hvd.config.HvdConfig.AllreduceAlgorithm;

/**
 * How an allreduce between processes goes. It depends on nothing but what all of them know alike, so that all choose
 * the same.
 *
 * @param asked for by the user
 * @param severalHosts whether the ranks are on more than one host
 */
record AllreduceChoice(AllreduceAlgorithm asked, boolean severalHosts) {
    /** From here on a ring of two and three hosts was faster than MPI_Allreduce at 1 Gbit/s. */
    private static final long RING_BYTES = 256 << 10;

    /** Who moves the data. */
    enum Algorithm {
        MPI,
        RING
    }

    /**
     * @param ranks that reduce together
     * @param bytes of all tensors in the type that travels
     * @param isNative whether MPI can reduce them itself
     */
    Algorithm of(int ranks, long bytes, boolean isNative) {
        if (ranks == 1 || asked == AllreduceAlgorithm.MPI) {
            return Algorithm.MPI;
        }
        if (asked == AllreduceAlgorithm.RING) {
            return Algorithm.RING;
        }
        return severalHosts && bytes >= RING_BYTES ? Algorithm.RING : Algorithm.MPI;
    }
}
