package io.hvd.train;

import io.hvd.data.StateWords;
import io.hvd.data.Stateful;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.train.loop.LoopUse;
import java.util.Map;
import java.util.Set;

/**
 * Stops when a metric has not become better for some epochs, which {@link Training#outcome} then says. It looks at the mean over
 * all ranks, so they stop together. In a second loop it begins anew, unless its state was loaded.
 */
public final class EarlyStop implements Callback, Stateful {
    private final Goal goal;
    private final int patience;
    private double best = Double.NaN;
    private int worse;
    private final LoopUse use = new LoopUse();

    /** @param patience epochs in a row without a better value after which it stops; at least 1 */
    public EarlyStop(Goal goal, int patience) {
        if (patience < 1) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "EarlyStop of \"" + goal.metric() + "\": patience is " + patience + ", expected at least 1");
        }
        this.goal = goal;
        this.patience = patience;
    }

    @Override
    public Place place() {
        return Place.DECISION;
    }

    @Override
    public void trainingBegins(Training training) {
        if (use.isOver()) {
            best = Double.NaN;
            worse = 0;
        }
    }

    @Override
    public void epochEnds(Training training) {
        if (training.isRestWithout(goal.metric())) {
            return;
        }
        use.goesOn();
        double value = training.result(goal.metric()).mean();
        if (goal.isBetter(value, best)) {
            best = value;
            worse = 0;
        } else if (++worse >= patience) {
            training.stop(why() + ", it is " + value);
        }
    }

    /** A run that has stopped is over, also when it is started again. */
    @Override
    public void epochBegins(Training training) {
        if (worse >= patience) {
            training.ending()
                    .over("EarlyStop has stopped this training in an earlier run, and nothing is trained: " + why());
        }
    }

    private String why() {
        return "\"" + goal.metric() + "\" has not become better than " + best
                + (goal.by() > 0 ? " by more than " + goal.by() : "") + " for " + worse + " epochs";
    }

    /** The best value so far, and for how many epochs there was no better one. */
    @Override
    public Map<String, String> saveState() {
        return Map.of(
                StateWords.KIND,
                "EarlyStop",
                Goal.METRIC,
                goal.metric(),
                Goal.DIRECTION,
                goal.direction(),
                "best",
                String.valueOf(best),
                "worse",
                String.valueOf(worse));
    }

    @Override
    public void loadState(Map<String, String> state) {
        use.isLoaded();
        StateWords words = new StateWords("EarlyStop", state);
        words.requireKind("EarlyStop", Set.of(Goal.METRIC, "best", "worse"));
        goal.requireIn(words);
        double savedBest = words.number("best");
        worse = words.whole("worse", Integer.MAX_VALUE);
        best = savedBest;
    }
}
