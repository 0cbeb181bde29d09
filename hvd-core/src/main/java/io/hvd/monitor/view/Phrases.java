package io.hvd.monitor.view;

import java.util.Collection;
import java.util.Locale;
import java.util.stream.Collectors;

/** Writes numbers and names for messages. */
public final class Phrases {
    private static final int MOST_RANKS = 16;

    private Phrases() {}

    /** Writes ranks as a set, such as {@code {0, 2}}. */
    static String set(Collection<Integer> ranks) {
        String first = ranks.stream().limit(MOST_RANKS).map(String::valueOf).collect(Collectors.joining(", "));
        return "{" + first + (ranks.size() > MOST_RANKS ? ", ... " + ranks.size() + " in all}" : "}");
    }

    /** Writes ranks, such as {@code rank 1} or {@code ranks {0, 2}}. */
    public static String ranks(Collection<Integer> ranks) {
        return ranks.size() == 1 ? "rank " + ranks.iterator().next() : "ranks " + set(ranks);
    }

    /** The verb for these ranks, has or have. */
    public static String has(Collection<Integer> ranks) {
        return ranks.size() == 1 ? "has" : "have";
    }

    public static String seconds(long millis) {
        return String.format(Locale.ROOT, millis < 100_000 ? "%.1f s" : "%.0f s", millis / 1000.0);
    }
}
