package io.hvd.benchmarks.cost;

import java.util.Locale;

/** The algorithms of an allreduce that the cost model tells apart. */
public enum Algorithm {
    /** Shared memory of all ranks; on one host only. */
    SHARED_MEMORY,
    /**
     * A reduce-scatter in each host, an allreduce of each rank's slice between the hosts by MPI, an allgather in each
     * host.
     */
    TWO_LEVEL,
    /** MPI_Allreduce with all ranks. */
    MPI,
    /** hvd's own ring of all ranks. */
    RING;

    /** True if a job of this shape can use the algorithm. */
    public boolean suits(JobShape shape) {
        return switch (this) {
            case SHARED_MEMORY -> shape.hosts() == 1;
            case TWO_LEVEL -> shape.hosts() > 1 && shape.perHost() > 1 && shape.isEven();
            case MPI, RING -> true;
        };
    }

    /** The one that hvd takes by itself for large tensors in a job of this shape. */
    public static Algorithm ownOf(JobShape shape) {
        return SHARED_MEMORY.suits(shape) ? SHARED_MEMORY : TWO_LEVEL.suits(shape) ? TWO_LEVEL : RING;
    }

    static Algorithm of(String word) {
        return valueOf(word.toUpperCase(Locale.ROOT).replace('-', '_'));
    }

    /** Its name in files and tables, such as {@code two-level}. */
    public String word() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
