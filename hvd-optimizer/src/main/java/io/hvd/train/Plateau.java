package io.hvd.train;

import io.hvd.data.StateWords;
import io.hvd.data.Stateful;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.Map;
import java.util.Set;

/**
 * Makes the learning rate smaller when a metric has not become better for some epochs: torch's ReduceLROnPlateau. It takes means
 * over all ranks only, which are the same on all of them, and so is what it decides. In a second loop's {@link LearningRate} it begins
 * anew, unless its state was loaded.
 *
 * <pre>{@code
 * optimizer.learningRate(0.1 * plateau.factorAfter(loss.reduce(hvd)));
 * }</pre>
 */
public final class Plateau implements Stateful {
    private final Goal goal;
    private final double factor;
    private final int patience;
    private final double least;

    private double best = Double.NaN;
    private int worse;
    private double now = 1;
    private final LoopUse use = new LoopUse();

    /**
     * @param goal names the metric
     * @param factor by which the rate is multiplied, between 0 and 1
     * @param patience epochs without a better value that are waited for
     * @param least the smallest product of factors, from 0 to 1
     */
    public Plateau(Goal goal, double factor, int patience, double least) {
        if (!(factor > 0 && factor < 1) || patience < 0 || !(least >= 0 && least <= 1)) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "Plateau of \"" + goal.metric() + "\": found factor " + factor + ", patience " + patience
                            + " and least " + least + ", expected a factor between 0 and 1, a patience of at least 0"
                            + " and a least factor from 0 to 1");
        }
        this.goal = goal;
        this.factor = factor;
        this.patience = patience;
        this.least = least;
    }

    void loopBegins() {
        if (use.isOver()) {
            best = Double.NaN;
            worse = 0;
            now = 1;
        }
    }

    /** Ends an epoch with this mean over all ranks, and says by what the rate is multiplied from now on. */
    public double factorAfter(MeanMetric.Result value) {
        use.goesOn();
        if (goal.isBetter(value.mean(), best)) {
            best = value.mean();
            worse = 0;
        } else if (++worse > patience) {
            now = Math.max(least, now * factor);
            worse = 0;
        }
        return now;
    }

    /** The factor of the rate now; 1 at the start. */
    public double factor() {
        return now;
    }

    /** Its settings, and its factor where it has been lowered already. */
    @Override
    public String toString() {
        return "Plateau(" + goal + ", factor " + factor + ", patience " + patience + ", least " + least + ", now " + now
                + ")";
    }

    Goal goal() {
        return goal;
    }

    /** The best value so far, for how many epochs there was no better one, and the factor. */
    @Override
    public Map<String, String> saveState() {
        return Map.of(
                StateWords.KIND,
                "Plateau",
                Goal.METRIC,
                goal.metric(),
                Goal.DIRECTION,
                goal.direction(),
                "best",
                String.valueOf(best),
                "worse",
                String.valueOf(worse),
                "factor",
                String.valueOf(now));
    }

    @Override
    public void loadState(Map<String, String> state) {
        use.isLoaded();
        StateWords words = new StateWords("Plateau", state);
        words.requireKind("Plateau", Set.of(Goal.METRIC, "best", "worse", "factor"));
        goal.requireIn(words);
        double savedBest = words.number("best");
        double savedFactor = words.number("factor");
        worse = words.whole("worse", Integer.MAX_VALUE);
        best = savedBest;
        now = savedFactor;
    }
}
