package io.hvd.engine.tuning;

import io.hvd.engine.message.Tunable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Looks for the best of several settings in rounds, in each of which all that are left get a sample in turn. From the
 * second round on the worse half drops out (successive halving; Jamieson and Talwalkar, 2016). A score counts relative to
 * the others of its round, so that a machine that becomes slower or faster from round to round favours none, and every second round goes
 * backwards.
 */
final class SuccessiveHalving {
    private static final int ROUNDS_OF_ALL = 2;

    private final Map<Tunable, List<Double>> relative = new HashMap<>();
    private List<Tunable> left;
    private List<Tunable> order;
    private final List<Double> round = new ArrayList<>();
    private int samples;
    private int rounds;

    /**
     * @param tried different settings, at least one
     * @param samples the most samples that may be taken; with fewer than two for each of them, some are not tried
     */
    SuccessiveHalving(List<Tunable> tried, int samples) {
        this.samples = samples;
        this.left = some(tried, Math.max(1, samples / ROUNDS_OF_ALL));
        this.order = left;
        left.forEach(each -> relative.put(each, new ArrayList<>()));
    }

    /** The first of them, and others that are spread evenly over the rest. */
    private static List<Tunable> some(List<Tunable> all, int most) {
        if (all.size() <= most) {
            return List.copyOf(all);
        }
        List<Tunable> some = new ArrayList<>();
        for (int i = 0; i < most; i++) {
            some.add(all.get(i * all.size() / most));
        }
        return some;
    }

    /** All settings that it tries. */
    int size() {
        return relative.size();
    }

    boolean isOver() {
        return left.size() == 1 || (round.isEmpty() && samples < left.size());
    }

    /** The settings of the next sample. */
    Tunable next() {
        return order.get(round.size());
    }

    /** The next sample has been taken. */
    void scored(double score) {
        samples--;
        round.add(Math.log(score));
        if (round.size() == order.size()) {
            endRound();
        }
    }

    private void endRound() {
        double typical = Median.of(round);
        for (int i = 0; i < order.size(); i++) {
            relative.get(order.get(i)).add(round.get(i) - typical);
        }
        round.clear();
        if (++rounds >= ROUNDS_OF_ALL) {
            left = ranking().subList(0, (left.size() + 1) / 2);
        }
        order = new ArrayList<>(left);
        if (rounds % 2 == 1) {
            Collections.reverse(order);
        }
    }

    /** The settings that are left, the best first; among equals, the one that was given first. */
    private List<Tunable> ranking() {
        return left.stream()
                .sorted(Comparator.comparingDouble(each -> -mean(relative.get(each))))
                .toList();
    }

    private static double mean(List<Double> values) {
        return values.stream().mapToDouble(Double::doubleValue).average().orElse(0);
    }

    Tunable best() {
        return ranking().get(0);
    }
}
