package io.hvd.benchmarks.cost;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** The ways of an allreduce whose costs are known apart. */
public enum Algorithm {
    /** Through memory that all ranks share; on one host only. */
    SHARED_MEMORY,
    /** Reduced in each host, each rank's slice across the hosts by MPI, gathered in each host. */
    TWO_LEVEL,
    /** What MPI_Allreduce does by itself with all ranks. */
    MPI,
    /** Round a ring of all ranks. */
    RING;

    /** Whether such a job can go this way. */
    public boolean suits(JobShape shape) {
        return switch (this) {
            case SHARED_MEMORY -> shape.hosts() == 1;
            case TWO_LEVEL -> shape.hosts() > 1 && shape.perHost() > 1 && shape.isEven();
            case MPI, RING -> true;
        };
    }

    /** As it is called in files and tables: {@code two-level}. */
    public String word() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** The way back from {@link #word}. */
    public static Optional<Algorithm> named(String word) {
        return Arrays.stream(values()).filter(each -> each.word().equals(word)).findFirst();
    }

    static List<String> words() {
        return Arrays.stream(values()).map(Algorithm::word).toList();
    }
}
