package io.hvd.engine.message;

import java.util.Collection;
import java.util.stream.Collectors;

/** Writes sets of ranks for messages. */
public final class RankSet {
    private RankSet() {}

    /** Text such as {@code {0, 2}}. */
    public static String format(Collection<Integer> ranks) {
        return ranks.stream().map(String::valueOf).collect(Collectors.joining(", ", "{", "}"));
    }
}
