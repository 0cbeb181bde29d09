package io.hvd.train.log;

/** The times of some steps of one rank. @param nanos of the whole steps, which the other two times are parts of */
record StepTimes(long steps, long samples, long nanos, long dataNanos, long exchangeNanos) {
    static final StepTimes NONE = new StepTimes(0, 0, 0, 0, 0);

    StepTimes plus(StepTimes other) {
        return new StepTimes(
                steps + other.steps,
                samples + other.samples,
                nanos + other.nanos,
                dataNanos + other.dataNanos,
                exchangeNanos + other.exchangeNanos);
    }
}
