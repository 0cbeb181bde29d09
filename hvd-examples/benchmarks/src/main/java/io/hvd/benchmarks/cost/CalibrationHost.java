package io.hvd.benchmarks.cost;

/**
 * Where it was measured.
 *
 * @param description for people
 * @param cores of a host, or of all hosts together where they share them
 * @param coresShared whether the hosts are parts of one machine, such as containers or network namespaces
 * @param gammaSecondsPerByte to add one byte of floats to another, on one core
 */
public record CalibrationHost(String description, int cores, boolean coresShared, double gammaSecondsPerByte) {

    /** Ranks for each core: above 1 they take turns. */
    double load(JobShape shape) {
        return (double) (coresShared ? shape.ranks() : shape.perHost()) / cores;
    }
}
