package io.hvd.benchmarks.cost;

/**
 * The hosts on which a model was measured.
 *
 * @param description text for the reader
 * @param cores number of cores of a host, or of all hosts together if they share them
 * @param coresShared whether the hosts are parts of one machine, such as containers or network namespaces
 * @param gammaSecondsPerByte the time to add one byte of floats to another, on one core
 */
public record CalibrationHost(String description, int cores, boolean coresShared, double gammaSecondsPerByte) {

    /** The number of ranks for each core; above 1 they take turns. */
    double load(JobShape shape) {
        return (double) (coresShared ? shape.ranks() : shape.perHost()) / cores;
    }
}
