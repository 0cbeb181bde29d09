package io.hvd.train;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.Map;

/**
 * Sets the learning rate before every batch, by a {@link Schedule}, and makes it smaller on a {@link Plateau}. It first compares the
 * ranks' schedules.
 */
public final class LearningRate implements Callback {
    private final Schedule schedule;
    /** Null if there is none. */
    private Plateau plateau;

    /** @param schedule in epochs */
    public LearningRate(Schedule schedule) {
        this.schedule = schedule;
    }

    /** Multiplies the rate by the plateau's factor too. */
    public LearningRate reducedOn(Plateau onPlateau) {
        this.plateau = onPlateau;
        return this;
    }

    @Override
    public Place place() {
        return Place.SCHEDULE;
    }

    @Override
    public void trainingBegins(Training training) {
        if (plateau != null) {
            plateau.loopBegins();
        }
        schedule.requireSame(training.ranks(), training.epochs());
        training.ranks().requireSame(Map.of("plateau", plateau == null ? "none" : plateau.toString()));
    }

    @Override
    public void batchBegins(Training training) {
        double rate = schedule.rate(training.progress()) * (plateau == null ? 1 : plateau.factor());
        if (!(rate >= 0) || Double.isInfinite(rate)) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "the schedule " + schedule + " gives the learning rate " + rate + " at epoch " + training.progress()
                            + ", expected a finite number of at least 0");
        }
        training.optimizer().learningRate(rate);
    }

    @Override
    public void epochEnds(Training training) {
        if (plateau != null && !training.isRestWithout(plateau.goal().metric())) {
            plateau.factorAfter(training.result(plateau.goal().metric()));
        }
    }
}
