package io.hvd.tensor;

/** The number by which averages are divided while some ranks have joined, that is, have run out of data, if they are at all. */
public enum JoinDivisor {
    /** The number of ranks that still have data: a true average. */
    ACTIVE,
    /** The number of all ranks, as in Horovod: joined ranks contribute zeros. */
    INITIAL,
    /**
     * None: no rank may end before the others. The first allreduce or barrier that a joined rank has not taken part in fails on
     * all ranks that have called it, and {@code join()} fails on those that wait in it.
     */
    NONE
}
