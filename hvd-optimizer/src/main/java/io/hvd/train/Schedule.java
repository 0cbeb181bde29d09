package io.hvd.train;

import io.hvd.ProcessSet;
import java.util.Arrays;

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
        ScheduleCheck.rate("fixed", "rate", rate);
        return new NamedSchedule("fixed(" + rate + ")", epoch -> rate);
    }

    /** Multiplies the rate by a factor after every epoch: torch's ExponentialLR. */
    static Schedule factor(double rate, double factor) {
        return step(rate, factor, 1);
    }

    /** Multiplies the rate by a factor after every so many epochs: torch's StepLR. */
    static Schedule step(double rate, double factor, double every) {
        ScheduleCheck.rate("step", "rate", rate);
        ScheduleCheck.rate("step", "factor", factor);
        ScheduleCheck.length("step", "every", every);
        return new NamedSchedule(
                "step(" + rate + ", " + factor + ", " + every + ")",
                epoch -> rate * Math.pow(factor, Math.floor(epoch / every)));
    }

    /** Multiplies the rate by a factor when each of these epochs begins: torch's MultiStepLR. */
    static Schedule multiFactor(double rate, double factor, double... epochs) {
        ScheduleCheck.rate("multiFactor", "rate", rate);
        ScheduleCheck.rate("multiFactor", "factor", factor);
        double[] places = ScheduleCheck.ascending("multiFactor", epochs);
        return new NamedSchedule(
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
        ScheduleCheck.rate("cosine", "first", first);
        ScheduleCheck.rate("cosine", "last", last);
        ScheduleCheck.length("cosine", "epochs", epochs);
        return new NamedSchedule(
                "cosine(" + first + ", " + last + ", " + epochs + ")",
                epoch -> last + (first - last) * (1 + Math.cos(Math.PI * Math.min(1, epoch / epochs))) / 2);
    }

    /** Goes from one rate to another in a straight line, and stays there. */
    static Schedule linear(double first, double last, double epochs) {
        return polynomial(first, last, epochs, 1);
    }

    /** Goes from one rate to another by a power of the part that is still to come, and stays there: torch's PolynomialLR. */
    static Schedule polynomial(double first, double last, double epochs, double power) {
        ScheduleCheck.rate("polynomial", "first", first);
        ScheduleCheck.rate("polynomial", "last", last);
        ScheduleCheck.length("polynomial", "epochs", epochs);
        ScheduleCheck.length("polynomial", "power", power);
        return new NamedSchedule(
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
        ScheduleCheck.rate("cyclical", "low", low);
        ScheduleCheck.rate("cyclical", "high", high);
        ScheduleCheck.length("cyclical", "epochs up", epochsUp);
        ScheduleCheck.length("cyclical", "epochs down", epochsDown);
        ScheduleCheck.rate("cyclical", "shrink", shrink);
        double cycle = epochsUp + epochsDown;
        return new NamedSchedule(
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
        ScheduleCheck.length("warmUp", "ranks", ranks);
        ScheduleCheck.length("warmUp", "epochs", epochs);
        double ahead = stepsPerEpoch > 0 ? 1.0 / stepsPerEpoch : 0;
        return new NamedSchedule(
                this + ".warmUp(" + ranks + ", " + epochs + ", " + stepsPerEpoch + ")",
                epoch -> epoch >= epochs
                        ? rate(epoch)
                        : rate(epoch) / ranks * (Math.min(epoch + ahead, epochs) * (ranks - 1) / epochs + 1));
    }

    /** Goes on with another schedule, for which this epoch is its beginning, 0: torch's SequentialLR. */
    default Schedule then(double epochs, Schedule next) {
        ScheduleCheck.length("then", "epochs", epochs);
        return new NamedSchedule(
                this + ".then(" + epochs + ", " + next + ")",
                epoch -> epoch < epochs ? rate(epoch) : next.rate(epoch - epochs));
    }

    /**
     * Compares the rates of the ranks at {@value ScheduleCheck#PLACES} places of a training. A collective.
     *
     * @throws io.hvd.error.HvdException on all ranks, if they differ; it names the first such place, the rates and the ranks
     */
    default void requireSame(ProcessSet ranks, double epochs) {
        ScheduleCheck.requireSame(this, ranks, epochs);
    }
}
