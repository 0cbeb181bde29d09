package io.hvd.tensor;

/** What averages are divided by while some ranks have joined, that is, have run out of data. */
public enum JoinDivisor {
    /** The number of ranks that still have data: a true average. */
    ACTIVE,
    /** The number of all ranks, as in Horovod: joined ranks count as zeros. */
    INITIAL
}
