package io.hvd.benchmarks.cost;

/**
 * The hosts and links on which a model was measured, or for which it predicts.
 *
 * @param description text for the reader
 * @param cores number of cores of a host, or of all hosts together if they share them
 * @param coresShared whether the hosts are parts of one machine, such as containers or network namespaces
 * @param gammaSecondsPerByte the time to add one byte of floats to another, on one core
 * @param linkBytesPerSecond what the link of a host carries each way, without headers; infinite if nothing limits it
 */
public record CalibrationHost(
        String description, int cores, boolean coresShared, double gammaSecondsPerByte, double linkBytesPerSecond) {

    /** The number of ranks for each core; above 1 they take turns. */
    double load(JobShape shape) {
        return (double) (coresShared ? shape.ranks() : shape.perHost()) / cores;
    }

    CalibrationHost withLink(double bytesPerSecond) {
        return new CalibrationHost(description, cores, coresShared, gammaSecondsPerByte, bytesPerSecond);
    }

    CalibrationHost withOwnCores(int ofEach) {
        return new CalibrationHost(description, ofEach, false, gammaSecondsPerByte, linkBytesPerSecond);
    }
}
