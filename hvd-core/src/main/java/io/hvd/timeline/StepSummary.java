package io.hvd.timeline;

import io.hvd.timeline.StepSplit.Share;
import io.hvd.timeline.StepSplit.Step;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Adds up steps, and says in a few lines how the time was spent and which rank the others waited for. */
final class StepSummary {
    private static final int MOST_LINES = 16;
    private static final double WORTH_NAMING = 0.01;

    private final Sums[] ranks;
    private final long[] stepsLate;
    private final long[] keptNanos;
    private final double[] collectorNanos;
    private int steps;
    private double stepNanos;

    StepSummary(int size) {
        ranks = IntStream.range(0, size).mapToObj(rank -> new Sums(size)).toArray(Sums[]::new);
        stepsLate = new long[size];
        keptNanos = new long[size];
        collectorNanos = new double[size];
    }

    /** The sums over one rank's steps. */
    private static final class Sums {
        final long[] waiting;
        long steps;
        long nanos;
        long compute;
        long exposed;

        Sums(int size) {
            waiting = new long[size];
        }

        String millis(long sum) {
            return StepSummary.millis(sum, steps);
        }
    }

    void add(Step step) {
        steps++;
        stepNanos += step.meanNanos();
        step.ranks().forEach(this::add);
        step.lateRank().ifPresent(late -> {
            stepsLate[late]++;
            keptNanos[late] += step.waitingByRank()[late];
            collectorNanos[late] += step.collectorNanos(late);
        });
    }

    private void add(Share share) {
        Sums sums = ranks[share.rank()];
        sums.steps++;
        sums.nanos += share.nanos();
        sums.compute += share.computeNanos();
        sums.exposed += share.exposedNanos();
        for (int late = 0; late < sums.waiting.length; late++) {
            sums.waiting[late] += share.waitingNanosFor(late);
        }
    }

    List<String> lines() {
        if (steps == 0) {
            return List.of("no training step was recorded, so there is nothing to say about steps;"
                    + " DistributedOptimizer.step() or HvdContext.markStep() ends one");
        }
        List<String> lines = new ArrayList<>();
        lines.add(steps + (steps == 1 ? " step on " : " steps on ") + ranks.length + " ranks, "
                + millis((long) stepNanos, steps) + " each; average times per step:");
        for (int rank = 0; rank < Math.min(ranks.length, MOST_LINES); rank++) {
            lines.add("rank " + rank + ": " + split(ranks[rank]));
        }
        if (ranks.length > MOST_LINES) {
            lines.add("(ranks " + MOST_LINES + " to " + (ranks.length - 1) + " are in the file)");
        }
        lines.addAll(lateness());
        return lines;
    }

    private static String split(Sums sums) {
        if (sums.steps == 0) {
            return "finished no step";
        }
        long waiting = IntStream.range(0, sums.waiting.length)
                .mapToLong(late -> sums.waiting[late])
                .sum();
        return sums.millis(sums.nanos) + " = " + sums.millis(sums.compute) + " compute + " + sums.millis(sums.exposed)
                + " exposed communication + " + sums.millis(waiting) + " waiting" + forWhom(sums);
    }

    private static String forWhom(Sums sums) {
        String whom = IntStream.range(0, sums.waiting.length)
                .boxed()
                .filter(late -> sums.waiting[late] > WORTH_NAMING * sums.nanos)
                .sorted(Comparator.comparingLong(late -> -sums.waiting[late]))
                .limit(3)
                .map(late -> "rank " + late + " " + sums.millis(sums.waiting[late]))
                .collect(Collectors.joining(", "));
        return whom.isEmpty() ? "" : " (for " + whom + ")";
    }

    private List<String> lateness() {
        List<String> lines = IntStream.range(0, ranks.length)
                .boxed()
                .filter(rank -> stepsLate[rank] > 0 && keptOnAverage(rank) >= WORTH_NAMING * stepNanos)
                .sorted(Comparator.comparingLong(rank -> -keptNanos[rank]))
                .limit(3)
                .map(this::lateness)
                .toList();
        return lines.isEmpty()
                ? List.of("no rank is late: the others wait for none of them for 1 % of the time")
                : lines;
    }

    private String lateness(int rank) {
        double each = keptOnAverage(rank);
        return "rank " + rank + " is late in " + stepsLate[rank] + " of " + steps + " steps; then the others wait "
                + millis((long) each, stepsLate[rank]) + " for it, which is "
                + String.format(Locale.ROOT, "%.0f %%", 100 * each / stepNanos) + " of all the time" + why(rank, each);
    }

    private String why(int rank, double each) {
        double share = collectorNanos[rank] / each;
        return share < WORTH_NAMING
                ? ""
                : "; " + millis((long) collectorNanos[rank], stepsLate[rank]) + " of these waits ("
                        + String.format(Locale.ROOT, "%.0f %%", 100 * share)
                        + ") are pauses of its garbage collector";
    }

    /** The time that each of the other ranks waited on average. */
    private double keptOnAverage(int rank) {
        return keptNanos[rank] / (double) Math.max(1, ranks.length - 1);
    }

    private static String millis(long nanos, long count) {
        return String.format(Locale.ROOT, "%.1f ms", nanos / 1e6 / count);
    }
}
