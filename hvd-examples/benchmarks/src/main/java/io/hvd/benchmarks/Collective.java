package io.hvd.benchmarks;

/** The collectives that are timed between hosts. */
public enum Collective {
    /** Allreduce in float32; the one in fp16 has a series of its own. */
    ALLREDUCE("float32", "allreduce"),
    BROADCAST("broadcast", "bcast"),
    ALLGATHER("allgather", "allgather"),
    REDUCE_SCATTER("reducescatter", "reduce_scatter_block"),
    /** Every rank has a piece for each rank. */
    ALLTOALL("alltoall", "alltoall");

    private final String series;
    private final String tuned;

    /** @param tuned its name in the parameters of Open MPI's module tuned */
    Collective(String series, String tuned) {
        this.series = series;
        this.tuned = tuned;
    }

    /** The name of hvd's timings. */
    public String series() {
        return series;
    }

    /** The name of mpi.jar's timings. */
    public String mpiSeries() {
        return "mpi-" + series;
    }

    /** The parameter that names Open MPI's algorithm by its number. */
    String parameter() {
        return "coll_tuned_" + tuned + "_algorithm";
    }

    /** The least number of bytes that a rank must send for a tensor of this size; in a broadcast that of the root. */
    double leastSent(int ranks, long bytes) {
        double others = (ranks - 1.0) / ranks * bytes;
        return switch (this) {
            case ALLREDUCE -> 2 * others;
            case BROADCAST -> bytes;
            case ALLGATHER, REDUCE_SCATTER, ALLTOALL -> others;
        };
    }
}
