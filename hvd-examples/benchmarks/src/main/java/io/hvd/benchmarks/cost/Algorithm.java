package io.hvd.benchmarks.cost;

import java.util.List;
import java.util.Locale;

/** The algorithms of an allreduce that the cost model tells apart. */
public enum Algorithm {
    /** Shared memory of all ranks; on one host only. */
    SHARED_MEMORY,
    /** hvd's own ring of all ranks. */
    RING,
    /**
     * A reduce-scatter in each host, an allreduce of each rank's slice between the hosts by MPI or hvd's ring, an allgather
     * in each host. It is fitted after the two that it consists of.
     */
    TWO_LEVEL,
    /** MPI_Allreduce with all ranks. */
    MPI;

    /** Up to here each rank adds up all stages in shared memory, as in {@code OneLevelAllreduce}. */
    private static final long MOST_FEW_BYTES = 2048;

    /** From here on MPI libraries send as few bytes as possible. */
    private static final long LEAST_MANY_BYTES = 1 << 20;

    /** True if a job of this shape can use the algorithm. */
    public boolean suits(JobShape shape) {
        return switch (this) {
            case SHARED_MEMORY -> shape.hosts() == 1;
            case TWO_LEVEL -> shape.hosts() > 1 && shape.perHost() > 1;
            case MPI, RING -> true;
        };
    }

    /**
     * The forms that sums up to this size may have. Links without a limit would not show which form it was, and slow ones
     * would then be predicted by the wrong bytes.
     */
    List<Form> forms(long mostBytes) {
        return switch (this) {
            case SHARED_MEMORY -> mostBytes <= MOST_FEW_BYTES ? List.of(Form.values()) : List.of(Form.MANY_BYTES);
            case MPI -> mostBytes < LEAST_MANY_BYTES ? List.of(Form.values()) : List.of(Form.MANY_BYTES);
            case TWO_LEVEL, RING -> List.of(Form.MANY_BYTES);
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
