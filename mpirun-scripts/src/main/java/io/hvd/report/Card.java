package io.hvd.report;

import java.util.List;
import java.util.Map;

/**
 * The contents of {@code run.json} about a run, as {@code io.hvd.train.log.RunCard} writes it.
 *
 * @param starts the times at which the run was begun and resumed, in ISO 8601; the other times too
 * @param written the time at which the file was written
 */
record Card(
        int format,
        String program,
        String command,
        List<String> starts,
        String written,
        Exit exit,
        Map<String, String> versions,
        Map<String, String> parameters,
        List<Setting> settings,
        List<Rank> ranks,
        List<Epoch> epochs,
        List<String> warnings) {
    static final int FORMAT = 1;

    /**
     * @param state running, finished, stopped or failed
     * @param error an error's code, or the class of an exception; null without one
     * @param why a loop has ended, such as "stopped early"; null without a loop
     */
    record Exit(String state, String error, String message, String why) {}

    record Setting(String name, String value, String source) {}

    /** @param total figures over all epochs */
    record Rank(int rank, String host, long pid, String device, Figures total) {}

    /** @param epoch counted from 1 @param step batches that were done at its end */
    record Epoch(int epoch, long step, Map<String, Double> metrics, List<Figures> ranks) {}

    /** The work of a rank. The times are in seconds; those of data and exchange are parts of the steps'. */
    record Figures(
            int rank,
            long steps,
            long samples,
            double stepSeconds,
            double dataWaitSeconds,
            double exchangeSeconds,
            long peakMemoryMib) {
        double samplesPerSecond() {
            return stepSeconds > 0 ? samples / stepSeconds : 0;
        }

        /** Computing, exchange and waiting for data, in milliseconds per step. */
        double[] splitMillis() {
            double scale = steps > 0 ? 1e3 / steps : 0;
            double computing = Math.max(0, stepSeconds - dataWaitSeconds - exchangeSeconds);
            return new double[] {scale * computing, scale * exchangeSeconds, scale * dataWaitSeconds};
        }
    }

    /** Samples per second of all ranks together. */
    double samplesPerSecond() {
        return ranks.stream().mapToDouble(one -> one.total.samplesPerSecond()).sum();
    }
}
