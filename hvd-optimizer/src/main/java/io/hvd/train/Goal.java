package io.hvd.train;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;

/**
 * Which metric is to become better, and in which direction.
 *
 * @param metric name of the metric
 * @param largest whether more is better
 * @param by how much better than the best so far a value must be to count; at least 0
 */
public record Goal(String metric, boolean largest, double by) {
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
}
