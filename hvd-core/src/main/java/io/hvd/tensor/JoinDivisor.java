package io.hvd.tensor;

/** The number by which averages are divided while some ranks have joined, that is, have run out of data. */
public enum JoinDivisor {
    /** The number of ranks that still have data: a true average. */
    ACTIVE,
    /** The number of all ranks, as in Horovod: joined ranks contribute zeros. */
    INITIAL
}
