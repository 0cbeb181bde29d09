package io.hvd.train;

import io.hvd.ProcessSet;
import io.hvd.train.schedule.RatePlaces;
import io.hvd.train.schedule.SameRates;
import io.hvd.train.schedule.ScheduleArguments;
import java.util.Arrays;
import java.util.function.DoubleUnaryOperator;

/**
 * A learning rate as a function of how far the training is, in epochs and fractions of them. It has no state, so it is the same on
 * every rank, and after a resume. Its names are those of DJL's trackers.
 *
 * <pre>{@code
 * Schedule schedule = Schedule.multiFactor(0.0125 * hvd.size(), 0.1, 30, 60, 80).warmUp(hvd.size(), 5);
 * optimizer.learningRate(schedule.rate(epoch + batch / (double) batches));
 * }</pre>
 *
 * <p>Steps may be counted instead of epochs, in the lengths of the schedule and in {@link #rate} alike. A {@link LearningRate} in a
 * {@link TrainingLoop} counts epochs. Lengths, factors and rates that cannot be meant are refused when the schedule is made, with
 * {@code HVD-202}.
 */
@FunctionalInterface
public interface Schedule {
    /** The learning rate at this place of the training; 2.5 is the middle of the third epoch. */
    double rate(double epoch);

    /** Always the same rate. */
    static Schedule fixed(double rate) {
        ScheduleArguments.rate("fixed", "rate", rate);
        return named("fixed(" + rate + ")", epoch -> rate);
    }

    /** Multiplies the rate by a factor after every epoch: torch's ExponentialLR. */
    static Schedule factor(double rate, double factor) {
        return step(rate, factor, 1);
    }

    /** Multiplies the rate by a factor after every so many epochs: torch's StepLR. */
    static Schedule step(double rate, double factor, double every) {
        ScheduleArguments.rate("step", "rate", rate);
        ScheduleArguments.rate("step", "factor", factor);
        ScheduleArguments.length("step", "every", every);
        return named(
                "step(" + rate + ", " + factor + ", " + every + ")",
                epoch -> rate * Math.pow(factor, Math.floor(epoch / every)));
    }

    /** Multiplies the rate by a factor when each of these epochs begins: torch's MultiStepLR. */
    static Schedule multiFactor(double rate, double factor, double... epochs) {
        ScheduleArguments.rate("multiFactor", "rate", rate);
        ScheduleArguments.rate("multiFactor", "factor", factor);
        double[] places = ScheduleArguments.ascending("multiFactor", epochs);
        return named(
                "multiFactor(" + rate + ", " + factor + ", " + Arrays.toString(places) + ")",
                epoch -> rate
                        * Math.pow(
                                factor,
                                Arrays.stream(places)
                                        .filter(place -> place <= epoch)
                                        .count()));
    }

    /** Goes from one rate to another along half a cosine, and stays there: torch's CosineAnnealingLR. */
    static Schedule cosine(double first, double last, double epochs) {
        ScheduleArguments.rate("cosine", "first", first);
        ScheduleArguments.rate("cosine", "last", last);
        ScheduleArguments.length("cosine", "epochs", epochs);
        return named(
                "cosine(" + first + ", " + last + ", " + epochs + ")",
                epoch -> last + (first - last) * (1 + Math.cos(Math.PI * Math.min(1, epoch / epochs))) / 2);
    }

    /**
     * Goes from one rate to another along half a cosine, and begins again, each time for longer: torch's
     * CosineAnnealingWarmRestarts.
     *
     * @param epochs of the first period
     * @param longer each period over the one before, at least 1; torch's {@code T_mult}
     */
    static Schedule cosineRestarts(double first, double last, double epochs, double longer) {
        ScheduleArguments.rate("cosineRestarts", "first", first);
        ScheduleArguments.rate("cosineRestarts", "last", last);
        ScheduleArguments.length("cosineRestarts", "epochs", epochs);
        ScheduleArguments.atLeastOne("cosineRestarts", "longer", longer);
        return named(
                "cosineRestarts(" + first + ", " + last + ", " + epochs + ", " + longer + ")",
                epoch -> last
                        + (first - last)
                                * (1 + Math.cos(Math.PI * RatePlaces.partOfPeriod(epoch, epochs, longer)))
                                / 2);
    }

    /**
     * Goes up to the highest rate and then far below the first one, along half cosines: torch's OneCycleLR with its defaults, which
     * begins at max / 25, rises during 0.3 of the steps, and ends at max / 250,000.
     *
     * @param steps how many steps the training has; the rate is asked for by step, from 0 on, and stays at its last. See {@link
     *     #inEpochsOf} for a loop
     */
    static Schedule oneCycle(double max, int steps) {
        return oneCycle(max, steps, 0.3, 25, 1e4);
    }

    /**
     * Goes up and down once, with torch's names for the settings.
     *
     * @param steps how many steps the training has, at least 2, and 4 with the default share of growth
     * @param pctStart the part of the steps in which the rate rises, between 0 and 1
     * @param divFactor the highest rate over the first one
     * @param finalDivFactor the first rate over the last one
     */
    static Schedule oneCycle(double max, int steps, double pctStart, double divFactor, double finalDivFactor) {
        ScheduleArguments.rate("oneCycle", "max", max);
        ScheduleArguments.length("oneCycle", "steps - 1", steps - 1.0);
        ScheduleArguments.share("oneCycle", "pctStart", pctStart);
        ScheduleArguments.length("oneCycle", "divFactor", divFactor);
        ScheduleArguments.length("oneCycle", "finalDivFactor", finalDivFactor);
        double top = pctStart * steps - 1;
        ScheduleArguments.length("oneCycle", "pctStart * steps - 1, the step of the highest rate,", top);
        ScheduleArguments.length("oneCycle", "(1 - pctStart) * steps, the steps after it,", steps - 1 - top);
        double first = max / divFactor;
        Schedule up = cosine(first, max, top);
        Schedule down = cosine(max, first / finalDivFactor, steps - 1 - top);
        return named(
                "oneCycle(" + max + ", " + steps + ", " + pctStart + ", " + divFactor + ", " + finalDivFactor + ")",
                step -> step < top ? up.rate(step) : down.rate(step - top));
    }

    /** Goes from one rate to another in a straight line, and stays there. */
    static Schedule linear(double first, double last, double epochs) {
        return polynomial(first, last, epochs, 1);
    }

    /** Goes from one rate to another by a power of the part that is still to come, and stays there: torch's PolynomialLR. */
    static Schedule polynomial(double first, double last, double epochs, double power) {
        ScheduleArguments.rate("polynomial", "first", first);
        ScheduleArguments.rate("polynomial", "last", last);
        ScheduleArguments.length("polynomial", "epochs", epochs);
        ScheduleArguments.length("polynomial", "power", power);
        return named(
                "polynomial(" + first + ", " + last + ", " + epochs + ", " + power + ")",
                epoch -> last + (first - last) * Math.pow(1 - Math.min(1, epoch / epochs), power));
    }

    /** Goes up from a low rate to a high one and down again, over and over: torch's CyclicLR in its mode triangular. */
    static Schedule cyclical(double low, double high, double epochsUp) {
        return cyclical(low, high, epochsUp, epochsUp, 1);
    }

    /**
     * Goes up and down in different times, and less high in each cycle.
     *
     * @param shrink the height of each cycle over that of the one before; 0.5 is torch's mode triangular2
     */
    static Schedule cyclical(double low, double high, double epochsUp, double epochsDown, double shrink) {
        ScheduleArguments.rate("cyclical", "low", low);
        ScheduleArguments.rate("cyclical", "high", high);
        ScheduleArguments.length("cyclical", "epochs up", epochsUp);
        ScheduleArguments.length("cyclical", "epochs down", epochsDown);
        ScheduleArguments.rate("cyclical", "shrink", shrink);
        double cycle = epochsUp + epochsDown;
        return named(
                "cyclical(" + low + ", " + high + ", " + epochsUp + ", " + epochsDown + ", " + shrink + ")", epoch -> {
                    double place = epoch % cycle;
                    double height = place < epochsUp ? place / epochsUp : (cycle - place) / epochsDown;
                    return low + (high - low) * height * Math.pow(shrink, Math.floor(epoch / cycle));
                });
    }

    /**
     * Begins with the rate of one rank: until the given epoch the rate of this schedule, which is that for all ranks, is
     * multiplied by (epoch * (ranks - 1) / epochs + 1) / ranks (Goyal et al., "Accurate, Large Minibatch SGD", 2017). It is Horovod's
     * LearningRateWarmupCallback.
     */
    default Schedule warmUp(int ranks, double epochs) {
        return warmUp(ranks, epochs, 0);
    }

    /**
     * Warms up one step ahead, as Horovod's callback does, so that the last step of the warm-up has the whole rate already.
     *
     * @param stepsPerEpoch 0 for no step ahead
     */
    default Schedule warmUp(int ranks, double epochs, int stepsPerEpoch) {
        ScheduleArguments.length("warmUp", "ranks", ranks);
        ScheduleArguments.length("warmUp", "epochs", epochs);
        double ahead = stepsPerEpoch > 0 ? 1.0 / stepsPerEpoch : 0;
        return named(
                this + ".warmUp(" + ranks + ", " + epochs + ", " + stepsPerEpoch + ")",
                epoch -> epoch >= epochs
                        ? rate(epoch)
                        : rate(epoch) / ranks * (Math.min(epoch + ahead, epochs) * (ranks - 1) / epochs + 1));
    }

    /**
     * Begins at a part of the rate, which may be 0, and goes in a straight line to the whole rate at the given epoch: torch's
     * LinearLR. Use it for recipes that warm up from 0, or where steps are counted instead of epochs.
     *
     * <pre>{@code
     * Schedule.cosine(3e-4, 0, 10_000).warmUpFrom(0, 500);                     // in steps: the first step has the rate 0
     * Schedule.cosine(3e-4, 0, 20).warmUpFrom(1.0 / hvd.size(), 5);            // in epochs: from the rate of one rank
     * }</pre>
     *
     * @param part of the rate at the beginning, from 0 to 1
     */
    default Schedule warmUpFrom(double part, double epochs) {
        ScheduleArguments.share("warmUpFrom", "part", part);
        ScheduleArguments.length("warmUpFrom", "epochs", epochs);
        return named(
                this + ".warmUpFrom(" + part + ", " + epochs + ")",
                epoch -> epoch >= epochs ? rate(epoch) : rate(epoch) * (part + (1 - part) * epoch / epochs));
    }

    /**
     * This schedule, which counts steps, for those who count epochs, as a {@link LearningRate} in a loop does.
     *
     * <pre>{@code
     * int batches = loader.batches();
     * new LearningRate(Schedule.oneCycle(0.1, 90 * batches).inEpochsOf(batches));
     * }</pre>
     *
     * @param steps of an epoch
     */
    default Schedule inEpochsOf(int steps) {
        ScheduleArguments.length("inEpochsOf", "steps", steps);
        return named(this + ".inEpochsOf(" + steps + ")", epoch -> rate(RatePlaces.step(epoch * steps)));
    }

    /** Goes on with another schedule, for which this epoch is its beginning, 0: torch's SequentialLR. */
    default Schedule then(double epochs, Schedule next) {
        ScheduleArguments.length("then", "epochs", epochs);
        return named(
                this + ".then(" + epochs + ", " + next + ")",
                epoch -> epoch < epochs ? rate(epoch) : next.rate(epoch - epochs));
    }

    /**
     * Compares the rates of the ranks at 1,024 places of a training. A collective.
     *
     * @throws io.hvd.error.HvdException on all ranks, if they differ; it names the first such place, the rates and the ranks
     */
    default void requireSame(ProcessSet ranks, double epochs) {
        SameRates.require(this::rate, ranks, epochs);
    }

    /** @param words the call that makes the schedule */
    private static Schedule named(String words, DoubleUnaryOperator formula) {
        record Named(String words, DoubleUnaryOperator formula) implements Schedule {
            @Override
            public double rate(double epoch) {
                ScheduleArguments.rate(words + ".rate", "epoch", epoch);
                return formula.applyAsDouble(epoch);
            }

            @Override
            public String toString() {
                return words;
            }
        }
        return new Named(words, formula);
    }
}
