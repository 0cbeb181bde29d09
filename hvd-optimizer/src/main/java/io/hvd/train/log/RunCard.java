package io.hvd.train.log;

import java.util.List;
import java.util.Map;

/**
 * The contents of {@code run.json}. The components are the fields of the file; {@code docs/how-to/runs.md} explains them.
 *
 * @param format number of this form of the file
 * @param starts the times at which the run was begun and resumed, in ISO 8601; the other times too
 * @param written when this file was written
 */
record RunCard(
        int format,
        String program,
        String command,
        List<String> starts,
        String written,
        Exit exit,
        Map<String, String> versions,
        Map<String, String> parameters,
        List<SettingRow> settings,
        List<RankRow> ranks,
        Summary summary,
        List<EpochRow> epochs,
        List<String> warnings) {
    static final int FORMAT = 1;

    /**
     * @param state running, finished, stopped or failed
     * @param error an error's code, or the class of an exception; null without one
     * @param why the kind of a loop's {@link io.hvd.train.Training.Outcome} in words; null without a loop
     */
    record Exit(String state, String error, String message, String why) {
        static final Exit RUNNING = new Exit("running", null, null, null);
        static final Exit FINISHED = new Exit("finished", null, null, null);
    }

    /** @param source environment, or autotuning */
    record SettingRow(String name, String value, String source) {}

    /** A rank, with its figures over all epochs. */
    record RankRow(int rank, String host, long pid, String device, RankFigures total) {}

    /** Figures of all ranks together; the shares are those of all steps' time. */
    record Summary(double samplesPerSecond, double computeShare, double exchangeShare, double dataWaitShare) {
        static Summary of(List<RankFigures> ranks) {
            double seconds =
                    ranks.stream().mapToDouble(RankFigures::stepSeconds).sum();
            if (seconds <= 0) {
                return new Summary(0, 0, 0, 0);
            }
            double exchange =
                    ranks.stream().mapToDouble(RankFigures::exchangeSeconds).sum() / seconds;
            double data =
                    ranks.stream().mapToDouble(RankFigures::dataWaitSeconds).sum() / seconds;
            double rate =
                    ranks.stream().mapToDouble(RankFigures::samplesPerSecond).sum();
            return new Summary(rate, Math.max(0, 1 - exchange - data), exchange, data);
        }
    }

    /** @param epoch counted from 1 @param step batches that were done at its end, over all epochs */
    record EpochRow(int epoch, long step, String ended, Map<String, Double> metrics, List<RankFigures> ranks) {}
}
