package io.hvd.train;

import io.hvd.data.StateWords;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;

/**
 * A metric that is to become better, and the direction.
 *
 * @param metric name of the metric
 * @param largest whether more is better
 * @param by how much better than the best so far a value must be to count; at least 0
 */
public record Goal(String metric, boolean largest, double by) {
    static final String METRIC = "metric";
    static final String DIRECTION = "better";

    public Goal {
        if (!(by >= 0) || Double.isInfinite(by)) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "Goal of \"" + metric + "\": by is " + by + ", expected a finite number of at least 0");
        }
    }

    /** Less is better, as of a loss. */
    public static Goal smallest(String metric) {
        return new Goal(metric, false, 0);
    }

    /** More is better, as of an accuracy. */
    public static Goal largest(String metric) {
        return new Goal(metric, true, 0);
    }

    /** The direction in a word, for saved states. */
    String direction() {
        return largest ? "largest" : "smallest";
    }

    /** Requires that a saved state is of this metric in this direction; older states name no direction. */
    void requireIn(StateWords words) {
        words.require(METRIC, metric);
        if (words.words().containsKey(DIRECTION)) {
            words.require(DIRECTION, direction());
        }
    }

    /** Counts only what is better by this amount. */
    public Goal by(double amount) {
        return new Goal(metric, largest, amount);
    }

    /** Whether a value is better than the best so far, which is NaN if there is none. A NaN is never better. */
    boolean isBetter(double value, double best) {
        if (Double.isNaN(value) || Double.isNaN(best)) {
            return Double.isNaN(best) && !Double.isNaN(value);
        }
        return largest ? value > best + by : value < best - by;
    }

    /** As {@link #isBetter(double, double)}, where a value must also be better than the best by this part of it, as torch computes it. */
    boolean isBetter(double value, double best, double part) {
        return isBetter(value, Double.isNaN(best) ? best : best * (largest ? 1 + part : 1 - part));
    }
}
