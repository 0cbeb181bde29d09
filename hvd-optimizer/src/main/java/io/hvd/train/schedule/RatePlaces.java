package io.hvd.train.schedule;

/** Places of a training: in its steps, and in periods that grow. */
public final class RatePlaces {
    /** A part of a step, larger than rounding makes it in a million steps. */
    private static final double HAIR = 1e-6;

    private RatePlaces() {}

    /** The part of its period that is over at this place, if each period is {@code longer} times the one before. */
    public static double partOfPeriod(double place, double first, double longer) {
        if (longer == 1) {
            return place % first / first;
        }
        double begun = Math.floor(Math.log1p(place / first * (longer - 1)) / Math.log(longer));
        double length = first * Math.pow(longer, begun);
        double part = (place - (length - first) / (longer - 1)) / length;
        return part < 0 ? 1 + part * longer : part >= 1 ? (part - 1) / longer : part; // the logarithm may be a hair off
    }

    /** A whole step, where fractions of epochs have put it a hair beside it: a rate that changes with a step changes with this one. */
    public static double step(double place) {
        double whole = Math.rint(place);
        return Math.abs(place - whole) < HAIR ? whole : place;
    }
}
