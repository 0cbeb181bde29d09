package io.hvd.train;

import java.util.function.DoubleUnaryOperator;

/**
 * A schedule that says what it is.
 *
 * @param words the call that makes it
 */
record NamedSchedule(String words, DoubleUnaryOperator formula) implements Schedule {
    @Override
    public double rate(double epoch) {
        ScheduleCheck.rate(words + ".rate", "epoch", epoch);
        return formula.applyAsDouble(epoch);
    }

    @Override
    public String toString() {
        return words;
    }
}
