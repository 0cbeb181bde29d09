package io.hvd.train;

import io.hvd.data.StateWords;
import io.hvd.data.Stateful;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.train.loop.LoopUse;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

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
    /** States without a cooldown have no such key. */
    private static final String COOLING = "cooling";

    private final Goal goal;
    private final double factor;
    private final int patience;
    private final double least;

    private double best = Double.NaN;
    private int worse;
    private double now = 1;
    /** Epochs that do not count yet, because the rate has just become smaller. */
    private int cooling;

    private double threshold;
    private int cooldown;
    private double leastChange;
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

    /**
     * With the defaults of torch's ReduceLROnPlateau: factor 0.1, patience 10, {@code threshold} 1e-4 of the best value, {@code eps} 1e-8.
     * Where other numbers than the first two are meant, set them on a {@code new Plateau}.
     *
     * <pre>{@code
     * loop.with(new LearningRate(schedule).reducedOn(Plateau.torch(Goal.smallest("loss")).cooldown(2)));
     * }</pre>
     */
    public static Plateau torch(Goal goal) {
        return new Plateau(goal, 0.1, 10, 0).threshold(1e-4).leastChange(1e-8);
    }

    /**
     * Counts only values that are better than the best one by this part of it: torch's {@code threshold} in its mode {@code rel}. The
     * default is 0. {@link Goal#by} is torch's mode {@code abs}.
     */
    public Plateau threshold(double partOfBest) {
        require(partOfBest >= 0 && partOfBest < 1, "threshold", partOfBest, "at least 0 and less than 1");
        this.threshold = partOfBest;
        return this;
    }

    /** Counts no epoch as worse for so many epochs after the rate has become smaller: torch's {@code cooldown}. The default is 0. */
    public Plateau cooldown(int epochs) {
        require(epochs >= 0, "cooldown", epochs, "at least 0");
        this.cooldown = epochs;
        return this;
    }

    /**
     * Leaves the factor as it is if it would change by no more than this: torch's {@code eps}, divided by the learning rate, as
     * {@code least} is torch's {@code min_lr} divided by it. The default is 0.
     */
    public Plateau leastChange(double ofFactor) {
        require(ofFactor >= 0 && ofFactor < 1, "leastChange", ofFactor, "at least 0 and less than 1");
        this.leastChange = ofFactor;
        return this;
    }

    private void require(boolean valid, String name, Object found, String expected) {
        if (!valid) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "Plateau of \"" + goal.metric() + "\": " + name + " is " + found + ", expected " + expected);
        }
    }

    void loopBegins() {
        if (use.isOver()) {
            best = Double.NaN;
            worse = 0;
            cooling = 0;
            now = 1;
        }
    }

    /** Ends an epoch with this mean over all ranks, and says by what the rate is multiplied from now on. */
    public double factorAfter(MeanMetric.Result value) {
        use.goesOn();
        if (goal.isBetter(value.mean(), best, threshold)) {
            best = value.mean();
            worse = 0;
        } else if (cooling == 0) {
            worse++;
        }
        cooling = Math.max(0, cooling - 1);
        if (worse > patience) {
            lower();
        }
        return now;
    }

    private void lower() {
        double lower = Math.max(least, now * factor);
        now = now - lower > leastChange ? lower : now;
        worse = 0;
        cooling = cooldown;
    }

    /** The factor of the rate now; 1 at the start. */
    public double factor() {
        return now;
    }

    /** Its settings, and its factor where it has been lowered already. */
    @Override
    public String toString() {
        return "Plateau(" + goal + ", factor " + factor + ", patience " + patience + ", least " + least
                + (threshold > 0 ? ", threshold " + threshold : "")
                + (cooldown > 0 ? ", cooldown " + cooldown : "")
                + (leastChange > 0 ? ", least change " + leastChange : "") + ", now " + now + ")";
    }

    Goal goal() {
        return goal;
    }

    /** The best value so far, for how many epochs there was no better one, the epochs that do not count yet, and the factor. */
    @Override
    public Map<String, String> saveState() {
        Map<String, String> state = new TreeMap<>(Map.of(
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
                String.valueOf(now)));
        if (cooldown > 0) {
            state.put(COOLING, String.valueOf(cooling));
        }
        return state;
    }

    @Override
    public void loadState(Map<String, String> state) {
        use.isLoaded();
        StateWords words = new StateWords("Plateau", state);
        words.requireKind("Plateau", Set.of(Goal.METRIC, "best", "worse", "factor"));
        goal.requireIn(words);
        double savedBest = words.number("best");
        double savedFactor = words.number("factor");
        int savedCooling = state.containsKey(COOLING) ? words.whole(COOLING, Integer.MAX_VALUE) : 0;
        worse = words.whole("worse", Integer.MAX_VALUE);
        cooling = savedCooling;
        best = savedBest;
        now = savedFactor;
    }
}
