package io.hvd.train.log;

import java.util.List;

/** A rank's figures of an epoch, or of all of them. The times are in seconds; those of data and exchange are parts of the steps'. */
record RankFigures(
        int rank,
        long steps,
        long samples,
        double stepSeconds,
        double dataWaitSeconds,
        double exchangeSeconds,
        long peakMemoryMib) {
    private static final double NANOS = 1e9;

    static RankFigures of(int rank, StepTimes times, long peakMemoryMib) {
        return new RankFigures(
                rank,
                times.steps(),
                times.samples(),
                times.nanos() / NANOS,
                times.dataNanos() / NANOS,
                times.exchangeNanos() / NANOS,
                peakMemoryMib);
    }

    /** The figures of one rank over several epochs. */
    static RankFigures sum(int rank, List<RankFigures> epochs) {
        RankFigures sum = new RankFigures(rank, 0, 0, 0, 0, 0, 0);
        for (RankFigures one : epochs) {
            sum = new RankFigures(
                    rank,
                    sum.steps + one.steps,
                    sum.samples + one.samples,
                    sum.stepSeconds + one.stepSeconds,
                    sum.dataWaitSeconds + one.dataWaitSeconds,
                    sum.exchangeSeconds + one.exchangeSeconds,
                    Math.max(sum.peakMemoryMib, one.peakMemoryMib));
        }
        return sum;
    }

    double samplesPerSecond() {
        return stepSeconds > 0 ? samples / stepSeconds : 0;
    }

    double dataWaitShare() {
        return stepSeconds > 0 ? dataWaitSeconds / stepSeconds : 0;
    }

    double exchangeShare() {
        return stepSeconds > 0 ? exchangeSeconds / stepSeconds : 0;
    }
}
