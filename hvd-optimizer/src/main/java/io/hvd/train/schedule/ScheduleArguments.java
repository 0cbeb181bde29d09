package io.hvd.train.schedule;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;

/** Refuses the arguments of schedules that cannot be meant. */
public final class ScheduleArguments {
    private ScheduleArguments() {}

    public static void rate(String call, String name, double value) {
        require(value >= 0, call, name, value, "a finite number of at least 0");
    }

    public static void length(String call, String name, double value) {
        require(value > 0, call, name, value, "a finite number above 0");
    }

    public static void share(String call, String name, double value) {
        require(value >= 0 && value <= 1, call, name, value, "a number from 0 to 1");
    }

    public static void atLeastOne(String call, String name, double value) {
        require(value >= 1, call, name, value, "a finite number of at least 1");
    }

    public static double[] ascending(String call, double... places) {
        for (int i = 0; i < places.length; i++) {
            length(call, "an epoch", places[i]);
            require(
                    i == 0 || places[i] > places[i - 1],
                    call,
                    "epoch " + (i + 1),
                    places[i],
                    "more than the one before");
        }
        return places.clone();
    }

    private static void require(boolean valid, String call, String name, double value, String expected) {
        if (!valid || Double.isInfinite(value)) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, "schedule " + call + ": " + name + " is " + value + ", expected " + expected);
        }
    }
}
