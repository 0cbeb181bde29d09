package io.hvd.engine.tuning;

import java.util.List;

/**
 * How long batches take: a time for each batch and a time for each byte, both in nanoseconds (Hockney, "The
 * communication challenge for MPP", 1994).
 */
record Pace(double nanosPerBatch, double nanosPerByte) {
    /** The least time of a batch: waking a thread on every rank takes at least so long. */
    private static final double LEAST_NANOS_PER_BATCH = 20_000;

    /** The number of bytes of a batch, and the least time that it has taken. */
    record Sample(long bytes, long nanos) {}

    /** The straight line through the samples by least squares, as far as it gives possible values for both times. */
    static Pace of(List<Sample> samples) {
        double meanBytes = mean(samples.stream().mapToDouble(Sample::bytes).toArray());
        double meanNanos = mean(samples.stream().mapToDouble(Sample::nanos).toArray());
        double spread = 0;
        double slope = 0;
        for (Sample sample : samples) {
            double away = sample.bytes() - meanBytes;
            spread += away * away;
            slope += away * (sample.nanos() - meanNanos);
        }
        double steepest = Math.max(0, meanNanos - LEAST_NANOS_PER_BATCH) / Math.max(1, meanBytes);
        double perByte = spread == 0 ? steepest : Math.min(steepest, Math.max(0, slope / spread));
        return new Pace(meanNanos - perByte * meanBytes, perByte);
    }

    private static double mean(double[] values) {
        double sum = 0;
        for (double value : values) {
            sum += value;
        }
        return sum / values.length;
    }

    double nanosFor(long bytes) {
        return nanosPerBatch + nanosPerByte * bytes;
    }
}
