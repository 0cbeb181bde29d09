package io.hvd.report;

import java.util.ArrayList;
import java.util.List;

/**
 * Places values along an axis whose ends are round numbers.
 *
 * @param tick distance of the axis' numbers
 * @param from place of the least value @param to place of the greatest
 */
record AxisScale(double least, double greatest, double tick, double from, double to) {
    private static final double ROUNDING = 1e-9;

    /** @param ticks about how many numbers the axis has */
    static AxisScale of(double least, double greatest, int ticks, double from, double to) {
        double low = least;
        double high = greatest;
        if (high <= low) {
            double room = low == 0 ? 1 : Math.abs(low) / 2;
            low -= low == 0 ? 0 : room;
            high += room;
        }
        double tick = round((high - low) / ticks);
        return new AxisScale(
                Math.floor(low / tick + ROUNDING) * tick, Math.ceil(high / tick - ROUNDING) * tick, tick, from, to);
    }

    /** The next of 1, 2 and 5 times a power of ten. */
    private static double round(double distance) {
        double power = Math.pow(10, Math.floor(Math.log10(distance)));
        for (double factor : new double[] {1, 2, 5}) {
            if (distance <= factor * power * (1 + ROUNDING)) {
                return factor * power;
            }
        }
        return 10 * power;
    }

    double place(double value) {
        return from + (value - least) / (greatest - least) * (to - from);
    }

    List<Double> ticks() {
        List<Double> ticks = new ArrayList<>();
        long count = Math.round((greatest - least) / tick);
        for (long i = 0; i <= count; i++) {
            ticks.add(least + i * tick);
        }
        return ticks;
    }
}
