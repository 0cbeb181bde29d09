package io.hvd.train;

import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/** Refuses schedules that cannot be meant, and those that differ between the ranks. */
final class ScheduleCheck {
    static final int PLACES = 1024;
    /** A part of a step, larger than rounding makes it in a million steps. */
    private static final double HAIR = 1e-6;

    private ScheduleCheck() {}

    static void rate(String call, String name, double value) {
        require(value >= 0, call, name, value, "a finite number of at least 0");
    }

    static void length(String call, String name, double value) {
        require(value > 0, call, name, value, "a finite number above 0");
    }

    static void share(String call, String name, double value) {
        require(value >= 0 && value <= 1, call, name, value, "a number from 0 to 1");
    }

    static void atLeastOne(String call, String name, double value) {
        require(value >= 1, call, name, value, "a finite number of at least 1");
    }

    /** How much of its period is over at this place, if each period is {@code longer} times the one before. */
    static double partOfPeriod(double place, double first, double longer) {
        if (longer == 1) {
            return place % first / first;
        }
        double begun = Math.floor(Math.log1p(place / first * (longer - 1)) / Math.log(longer));
        double length = first * Math.pow(longer, begun);
        double part = (place - (length - first) / (longer - 1)) / length;
        return part < 0 ? 1 + part * longer : part >= 1 ? (part - 1) / longer : part; // the logarithm may be a hair off
    }

    /** A whole step, where fractions of epochs have put it a hair beside it: a rate that changes with a step changes with this one. */
    static double step(double place) {
        double whole = Math.rint(place);
        return Math.abs(place - whole) < HAIR ? whole : place;
    }

    static double[] ascending(String call, double... places) {
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

    static void requireSame(Schedule schedule, ProcessSet ranks, double epochs) {
        double[] mine = new double[PLACES + 1];
        for (int place = 0; place < PLACES; place++) {
            mine[place] = schedule.rate(epochs * place / PLACES);
        }
        mine[PLACES] = epochs;
        double[] all =
                (double[]) ranks.allgather("schedule.rates", Tensor.of(mine)).toArray();
        requireEqual(ranks, all, PLACES, "number of epochs");
        for (int place = 0; place < PLACES; place++) {
            requireEqual(ranks, all, place, "learning rate at epoch " + epochs * place / PLACES);
        }
    }

    private static void requireEqual(ProcessSet ranks, double[] all, int place, String what) {
        Map<Double, TreeSet<Integer>> byValue = new TreeMap<>();
        for (int rank = 0; rank < ranks.size(); rank++) {
            byValue.computeIfAbsent(all[rank * (PLACES + 1) + place], value -> new TreeSet<>())
                    .add(ranks.ranks().get(rank));
        }
        if (byValue.size() > 1) {
            StringBuilder words = new StringBuilder();
            byValue.forEach((value, members) -> words.append(words.isEmpty() ? "" : "; ")
                    .append(value)
                    .append(" on ranks ")
                    .append(members));
            throw new HvdException(
                    ErrorId.DIFFERENT_SETTINGS,
                    "the ranks differ in the " + what + ": " + words + ". Give every rank the same schedule");
        }
    }
}
